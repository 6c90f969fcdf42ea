#pragma once
// The symbols that a loaded object defines, by its dynamic section. Read without dlsym, which we
// wrap ourselves, and without libc's strcmp, which may be a sanitizer's that looks its own up by
// our dlsym.

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace traceagent::door {

struct ElfTables {
  ElfW(Addr) base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* old_hash = nullptr;
  const ElfW(Half) * versions = nullptr;  // of each symbol, an index among the defined
  const ElfW(Verdef) * defined_versions = nullptr;
  const char* soname = "";
};

ElfTables elf_tables(ElfW(Addr) base, const ElfW(Dyn) * dynamic) noexcept;
ElfTables elf_tables(const dl_phdr_info& object) noexcept;

// A symbol, and the version that it must have: null for any, "" for none.
struct WantedSymbol {
  const char* symbol;
  const char* version;
};

// Where the object's definition of it lies; nullptr where it has none.
void* defined_in(const ElfTables& tables, const WantedSymbol& wanted) noexcept;

// Whether the loader has tied a call or an address of the object's, by the name, to what
// `is_wanted` says yes to. Not a function that it asks dlsym for.
bool is_tied(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* symbol,
             bool (*is_wanted)(const void*)) noexcept;

bool contains(const dl_phdr_info& object, const void* address) noexcept;
bool is_same_text(const char* one, const char* other) noexcept;

}  // namespace traceagent::door
