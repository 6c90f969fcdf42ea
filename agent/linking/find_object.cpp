// Where the unwinder finds the tables of a program address. Debian 12's static libgcc asks glibc's
// _dl_find_object(), which came with 2.35: the library must load on machines with an older one.
// dl_iterate_phdr() knows the same, more slowly; only an exception of our own pays for it.
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "agent/event/fork_hold.hpp"

namespace {

// The part of struct dl_find_object that libgcc reads, laid out as in <dlfcn.h> of glibc 2.35.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  link_map* map;
  void* eh_frame;
};

struct Search {
  std::uintptr_t address;
  FoundObject* found;
};

int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const auto* search = static_cast<const Search*>(data);
  const ElfW(Phdr)* eh_frame = nullptr;
  bool is_inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) eh_frame = part;
    if (part->p_type == PT_LOAD && search->address - start < part->p_memsz) {
      is_inside = true;
      search->found->map_start = reinterpret_cast<void*>(start);
      search->found->map_end = reinterpret_cast<void*>(start + part->p_memsz);
    }
  }
  if (!is_inside) return 0;
  if (eh_frame == nullptr) return -1;
  search->found->flags = 0;
  search->found->map = nullptr;
  search->found->eh_frame = reinterpret_cast<void*>(object->dlpi_addr + eh_frame->p_vaddr);
  return 1;
}

}  // namespace

extern "C" {
// By its name in the object file: newer headers declare it with their own type.
[[gnu::visibility("hidden")]] int find_object(void* address, FoundObject* found) noexcept
    __asm__("_dl_find_object");

int find_object(void* address, FoundObject* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  const traceagent::event::ForkHold hold;
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
}
