/* Where the unwinder finds the tables of a program address. Debian 12's static libgcc asks glibc's
   _dl_find_object(), which came with 2.35: the library must load on machines with an older one.
   dl_iterate_phdr() knows the same, more slowly; only an exception of our own pays for it. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* The part of struct dl_find_object that libgcc reads, laid out as in <dlfcn.h> of glibc 2.35. */
struct found_object {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* link_map;
  void* eh_frame;
};

struct search {
  uintptr_t address;
  struct found_object* found;
};

static int look_into(struct dl_phdr_info* object, size_t size, void* data) {
  const struct search* search = data;
  const ElfW(Phdr)* eh_frame = NULL;
  int is_inside = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) eh_frame = part;
    if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
      is_inside = 1;
      search->found->map_start = (void*)start;
      search->found->map_end = (void*)(start + part->p_memsz);
    }
  }
  if (!is_inside) return 0;
  if (eh_frame == NULL) return -1;
  search->found->flags = 0;
  search->found->link_map = NULL;
  search->found->eh_frame = (void*)(object->dlpi_addr + eh_frame->p_vaddr);
  return 1;
}

/* By its name in the object file: newer headers declare it with their own type. */
__attribute__((visibility("hidden"))) int find_object(
    void* address, struct found_object* found) __asm__("_dl_find_object");

int find_object(void* address, struct found_object* found) {
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
