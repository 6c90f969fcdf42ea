#include "tests/faults/patched_object.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace traceagent::faults {
namespace {

struct Search {
  const char* file;
  Replacement replacement;
  Extent found;
};

bool has_name(const char* path, const char* file) noexcept {
  const char* slash = std::strrchr(path, '/');
  return std::strcmp(slash != nullptr ? slash + 1 : path, file) == 0;
}

// The program has no name in the list of objects.
bool is_called(const dl_phdr_info& object, const char* file) noexcept {
  if (object.dlpi_name[0] != '\0') return has_name(object.dlpi_name, file);
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || reinterpret_cast<void*>(object.dlpi_addr) == nullptr) return false;
  path[length] = '\0';
  return has_name(path, file);
}

struct Dynamic {
  const ElfW(Sym) * symbols;
  const char* strings;
  const ElfW(Rela) * relocations[2];
  std::size_t bytes[2];
};

// The loader has added the object's address to those of the sections, or not (vdso).
template <class T>
const T* pointer(const dl_phdr_info& object, ElfW(Addr) value) noexcept {
  return reinterpret_cast<const T*>(value < object.dlpi_addr ? value + object.dlpi_addr : value);
}

Dynamic read_dynamic(const dl_phdr_info& object, const ElfW(Dyn) * entry) noexcept {
  Dynamic found{};
  for (; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        found.symbols = pointer<ElfW(Sym)>(object, value);
        break;
      case DT_STRTAB:
        found.strings = pointer<char>(object, value);
        break;
      case DT_RELA:
        found.relocations[0] = pointer<ElfW(Rela)>(object, value);
        break;
      case DT_RELASZ:
        found.bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        found.relocations[1] = pointer<ElfW(Rela)>(object, value);
        break;
      case DT_PLTRELSZ:
        found.bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return found;
}

void put(void** slot, void* value) noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) / page_bytes * page_bytes;
  // It stays writable: what is protected after relocation is so against others than this test.
  if (mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE) == 0) {
    *slot = value;
  }
}

void patch(const dl_phdr_info& object, const Dynamic& dynamic, Replacement replacement) noexcept {
  for (int list = 0; list < 2; ++list) {
    const ElfW(Rela)* entry = dynamic.relocations[list];
    const std::size_t count = dynamic.bytes[list] / sizeof *entry;
    for (std::size_t i = 0; i < count; ++i) {
      const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(entry[i].r_info)];
      if (ELF64_R_SYM(entry[i].r_info) == 0 || symbol.st_shndx != SHN_UNDEF) continue;
      void* wanted = replacement(dynamic.strings + symbol.st_name);
      if (wanted != nullptr) {
        put(reinterpret_cast<void**>(object.dlpi_addr + entry[i].r_offset), wanted);
      }
    }
  }
}

std::size_t end_of(const dl_phdr_info& object) noexcept {
  std::size_t end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
  }
  return end;
}

int look_at(dl_phdr_info* object, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  if (!is_called(*object, search.file)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    const auto* entries = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + segment.p_vaddr);
    patch(*object, read_dynamic(*object, entries), search.replacement);
    search.found = {reinterpret_cast<const char*>(object->dlpi_addr), end_of(*object)};
    return 1;
  }
  return 0;
}

}  // namespace

Extent patch_object(const char* file, Replacement replacement) noexcept {
  Search search{file, replacement, {}};
  dl_iterate_phdr(look_at, &search);
  return search.found;
}

}  // namespace traceagent::faults
