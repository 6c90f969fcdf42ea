#include "agent/door/elf_tables.hpp"

#include <cstddef>

namespace traceagent::door {
namespace {

// d_ptr is relocated by glibc on most machines; a value below the load address is still an offset
// (the vDSO's).
template <class T>
const T* table_at(ElfW(Addr) base, ElfW(Addr) value) noexcept {
  return reinterpret_cast<const T*>(value < base ? base + value : value);
}

std::uint32_t gnu_hash(const char* name) noexcept {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t old_hash(const char* name) noexcept {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  return hash;
}

template <class T, class Part>
const T* behind(const Part* part, std::size_t bytes) noexcept {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(part) + bytes);
}

// "": it has none.
const char* version_of(const ElfTables& tables, std::uint32_t index) noexcept {
  if (tables.versions == nullptr || tables.defined_versions == nullptr) return "";
  constexpr unsigned hidden_bit = 0x8000;
  const unsigned wanted = tables.versions[index] & ~hidden_bit;
  if (wanted <= VER_NDX_GLOBAL) return "";
  for (const ElfW(Verdef)* version = tables.defined_versions;;
       version = behind<ElfW(Verdef)>(version, version->vd_next)) {
    if (version->vd_ndx == wanted) {
      return tables.strings + behind<ElfW(Verdaux)>(version, version->vd_aux)->vda_name;
    }
    if (version->vd_next == 0) return "";
  }
}

bool defines(const ElfTables& tables, std::uint32_t index, const WantedSymbol& wanted) noexcept {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF &&
         is_same_text(tables.strings + symbol.st_name, wanted.symbol) &&
         (wanted.version == nullptr || is_same_text(version_of(tables, index), wanted.version));
}

// The System V hash section: bucket count, chain count, buckets, chains.
const ElfW(Sym) *
    look_up_in_old_hash(const ElfTables& tables, const WantedSymbol& wanted) noexcept {
  const std::uint32_t bucket_count = tables.old_hash[0];
  if (bucket_count == 0) return nullptr;
  const std::uint32_t* buckets = tables.old_hash + 2;
  const std::uint32_t* chains = buckets + bucket_count;
  std::uint32_t index = buckets[old_hash(wanted.symbol) % bucket_count];
  for (; index != STN_UNDEF; index = chains[index]) {
    if (defines(tables, index, wanted)) return &tables.symbols[index];
  }
  return nullptr;
}

// The GNU hash section: bucket count, first hashed symbol, bloom words, shift; bloom filter;
// buckets; chains whose last entry has bit 0 set.
const ElfW(Sym) * look_up(const ElfTables& tables, const WantedSymbol& wanted) noexcept {
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  if (tables.gnu_hash == nullptr) {
    return tables.old_hash != nullptr ? look_up_in_old_hash(tables, wanted) : nullptr;
  }
  const std::uint32_t* head = tables.gnu_hash;
  const std::uint32_t bucket_count = head[0], first = head[1], bloom_words = head[2];
  if (bucket_count == 0) return nullptr;
  const auto* buckets = head + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash(wanted.symbol);
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    const std::uint32_t candidate = chains[index - first];
    if ((candidate | 1u) == (hash | 1u) && defines(tables, index, wanted)) {
      return &tables.symbols[index];
    }
    if ((candidate & 1u) != 0) return nullptr;
  }
}

}  // namespace

ElfTables elf_tables(ElfW(Addr) base, const ElfW(Dyn) * dynamic) noexcept {
  ElfTables tables;
  tables.base = base;
  std::uint64_t soname_offset = 0;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    const ElfW(Addr) value = dynamic->d_un.d_ptr;
    if (dynamic->d_tag == DT_SYMTAB) tables.symbols = table_at<ElfW(Sym)>(base, value);
    if (dynamic->d_tag == DT_STRTAB) tables.strings = table_at<char>(base, value);
    if (dynamic->d_tag == DT_GNU_HASH) tables.gnu_hash = table_at<std::uint32_t>(base, value);
    if (dynamic->d_tag == DT_HASH) tables.old_hash = table_at<std::uint32_t>(base, value);
    if (dynamic->d_tag == DT_VERSYM) tables.versions = table_at<ElfW(Half)>(base, value);
    if (dynamic->d_tag == DT_VERDEF) tables.defined_versions = table_at<ElfW(Verdef)>(base, value);
    if (dynamic->d_tag == DT_SONAME) soname_offset = value;
  }
  if (tables.strings != nullptr && soname_offset != 0) {
    tables.soname = tables.strings + soname_offset;
  }
  return tables;
}

ElfTables elf_tables(const dl_phdr_info& object) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
  }
  return elf_tables(object.dlpi_addr, dynamic);
}

void* defined_in(const ElfTables& tables, const WantedSymbol& wanted) noexcept {
  const ElfW(Sym)* found = look_up(tables, wanted);
  return found != nullptr ? reinterpret_cast<void*>(tables.base + found->st_value) : nullptr;
}

namespace {

// What the loader ties to names. `first`: behind those that name nothing, of which PyTorch's
// libraries have a million.
struct Relocations {
  const ElfW(Rela) * all = nullptr;
  std::size_t bytes = 0, first = 0;
};

bool is_tied(const Relocations& relocations, const ElfTables& tables, const char* symbol,
             bool (*is_wanted)(const void*)) noexcept {
#ifdef __x86_64__
  constexpr std::uint64_t call = R_X86_64_JUMP_SLOT, address = R_X86_64_GLOB_DAT;
#else
  constexpr std::uint64_t call = R_AARCH64_JUMP_SLOT, address = R_AARCH64_GLOB_DAT;
#endif
  if (relocations.all == nullptr) return false;
  for (std::size_t i = relocations.first; i < relocations.bytes / sizeof(ElfW(Rela)); ++i) {
    const std::uint64_t info = relocations.all[i].r_info;
    const std::uint64_t type = ELF64_R_TYPE(info);
    if (type != call && type != address) continue;
    const char* name = tables.strings + tables.symbols[ELF64_R_SYM(info)].st_name;
    if (!is_same_text(name, symbol)) continue;
    if (is_wanted(*reinterpret_cast<void**>(tables.base + relocations.all[i].r_offset)))
      return true;
  }
  return false;
}

}  // namespace

bool is_tied(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char* symbol,
             bool (*is_wanted)(const void*)) noexcept {
  const ElfTables tables = elf_tables(base, dynamic);
  if (tables.symbols == nullptr || tables.strings == nullptr) return false;
  Relocations calls, others;
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) calls.all = table_at<ElfW(Rela)>(base, value);
    if (entry->d_tag == DT_PLTRELSZ) calls.bytes = value;
    if (entry->d_tag == DT_RELA) others.all = table_at<ElfW(Rela)>(base, value);
    if (entry->d_tag == DT_RELASZ) others.bytes = value;
    if (entry->d_tag == DT_RELACOUNT) others.first = value;
  }
  return is_tied(calls, tables, symbol, is_wanted) || is_tied(others, tables, symbol, is_wanted);
}

bool contains(const dl_phdr_info& object, const void* address) noexcept {
  const auto byte = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const std::uintptr_t start = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && byte >= start && byte < start + part.p_memsz) return true;
  }
  return false;
}

bool is_same_text(const char* one, const char* other) noexcept {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

}  // namespace traceagent::door
