#pragma once
// What the dynamic section of a loaded object says: its symbols, what it takes from others, and
// where the loader has put that. Read without dlsym, which we wrap ourselves, and without libc's
// strcmp, which may be a sanitizer's that looks its own up by our dlsym.

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace traceagent::door {

struct ElfTables {
  ElfW(Addr) base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* old_hash = nullptr;
  const ElfW(Half) * versions = nullptr;  // of each symbol, an index among the defined
  const ElfW(Verdef) * defined_versions = nullptr;
  const char* soname = "";
};

// d_ptr is relocated by glibc on most machines; a value below the load address is still an offset
// (the vDSO's).
template <class T>
const T* table_at(ElfW(Addr) base, ElfW(Addr) value) noexcept {
  return reinterpret_cast<const T*>(value < base ? base + value : value);
}

ElfTables elf_tables(ElfW(Addr) base, const ElfW(Dyn) * dynamic) noexcept;
ElfTables elf_tables(const dl_phdr_info& object) noexcept;

// A symbol, and the version that it must have: null for any, "" for none.
struct WantedSymbol {
  const char* symbol;
  const char* version;
};

// Where the object's definition of it lies; nullptr where it has none.
void* defined_in(const ElfTables& tables, const WantedSymbol& wanted) noexcept;

// A reference of the object's by name: a word that the loader fills with the address.
struct Binding {
  const char* symbol;
  void** word;
};

// Whether its DT_NEEDED entries name `library`: without folders.
bool needs(const ElfTables& tables, const char* library) noexcept;

bool contains(const dl_phdr_info& object, const void* address) noexcept;
bool is_same_text(const char* one, const char* other) noexcept;

// Calls `visit(binding)` for each, until that says true.
template <class Visit>
bool visit_bindings(const ElfTables& tables, const Visit& visit) noexcept {
  const ElfW(Rela) * parts[2] = {};
  std::size_t bytes[2] = {}, without_name = 0;
  for (const ElfW(Dyn)* entry = tables.dynamic; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_RELA) parts[0] = table_at<ElfW(Rela)>(tables.base, value);
    if (entry->d_tag == DT_RELASZ) bytes[0] = value;
    if (entry->d_tag == DT_RELACOUNT) without_name = value;  // they come first
    if (entry->d_tag == DT_JMPREL) parts[1] = table_at<ElfW(Rela)>(tables.base, value);
    if (entry->d_tag == DT_PLTRELSZ) bytes[1] = value;
  }
  for (int part = 0; part < 2; ++part) {
    const std::size_t count = parts[part] != nullptr ? bytes[part] / sizeof(ElfW(Rela)) : 0;
    for (std::size_t i = part == 0 ? without_name : 0; i < count; ++i) {
      const ElfW(Rela)& entry = parts[part][i];
      const auto type = ELF64_R_TYPE(entry.r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
      const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(entry.r_info)];
      if (visit(Binding{tables.strings + symbol.st_name,
                        reinterpret_cast<void**>(tables.base + entry.r_offset)})) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace traceagent::door
