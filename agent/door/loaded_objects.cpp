#include "agent/door/loaded_objects.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "agent/event/fork_hold.hpp"

// Where this object begins and ends in memory: from the linker. Hidden by hand, since an attribute
// does not reach a name that is given so.
__asm__(".hidden __ehdr_start\n.hidden _end");
extern "C" {
extern const char own_begin __asm__("__ehdr_start");
extern const char own_end __asm__("_end");
}

namespace traceagent::door {
namespace {

struct Tables {
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
const T* table_at(ElfW(Addr) base, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < base ? base + value : value);
}

// strcmp may be a sanitizer's, which looks its own up by our dlsym.
bool is_same(const char* one, const char* other) noexcept {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

Tables tables_of(ElfW(Addr) base, const ElfW(Dyn) * dynamic) noexcept {
  Tables tables;
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

Tables tables_of(const dl_phdr_info& object) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    }
  }
  return tables_of(object.dlpi_addr, dynamic);
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

// A symbol, and the version that it must have: null for any, "" for none.
struct Wanted {
  const char* symbol;
  const char* version;
};

template <class T, class Part>
const T* behind(const Part* part, std::size_t bytes) noexcept {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(part) + bytes);
}

// "": it has none.
const char* version_of(const Tables& tables, std::uint32_t index) noexcept {
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

bool defines(const Tables& tables, std::uint32_t index, const Wanted& wanted) noexcept {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && is_same(tables.strings + symbol.st_name, wanted.symbol) &&
         (wanted.version == nullptr || is_same(version_of(tables, index), wanted.version));
}

// The System V hash section: bucket count, chain count, buckets, chains.
const ElfW(Sym) * look_up_in_old_hash(const Tables& tables, const Wanted& wanted) noexcept {
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
const ElfW(Sym) * look_up(const Tables& tables, const Wanted& wanted) noexcept {
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

struct Search {
  const char* soname;
  Wanted wanted;
  void* found;
};

bool contains(const dl_phdr_info& object, std::uintptr_t address) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const std::uintptr_t start = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= start && address < start + part.p_memsz) return true;
  }
  return false;
}

int visit(dl_phdr_info* object, std::size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  if (contains(*object, reinterpret_cast<std::uintptr_t>(&visit))) return 0;
  const Tables tables = tables_of(*object);
  if (search.soname[0] != '\0' && !is_same(tables.soname, search.soname)) return 0;
  const ElfW(Sym)* symbol = look_up(tables, search.wanted);
  if (symbol == nullptr) return 0;
  search.found = reinterpret_cast<void*>(object->dlpi_addr + symbol->st_value);
  return 1;
}

// In the loader's own list, without a lock: dl_iterate_phdr may be a sanitizer's that has yet to
// look its own up, by our dlsym. What the program started with stands first and is never unloaded.
void* symbol_of_startup(const char* soname, const char* symbol) noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const Tables tables = tables_of(object->l_addr, object->l_ld);
    if (!is_same(tables.soname, soname)) continue;
    const ElfW(Sym)* found = look_up(tables, {symbol, nullptr});
    if (found != nullptr) return reinterpret_cast<void*>(object->l_addr + found->st_value);
  }
  return nullptr;
}

constinit std::atomic<void*> dlsym_address{nullptr};
constinit std::atomic<void*> dlvsym_address{nullptr};

void* from_libc(std::atomic<void*>& cache, const char* symbol) noexcept {
  void* found = cache.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  found = symbol_of_startup("libc.so.6", symbol);
  // Before glibc 2.34 they lived in a library of their own.
  if (found == nullptr) found = symbol_of_startup("libdl.so.2", symbol);
  cache.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

void* symbol_in_object(const char* soname, const char* symbol, const char* version) noexcept {
  Search search{soname, {symbol, version}, nullptr};
  const event::ForkHold hold;
  dl_iterate_phdr(visit, &search);
  return search.found;
}

DlsymFunction true_dlsym() noexcept {
  return reinterpret_cast<DlsymFunction>(from_libc(dlsym_address, "dlsym"));
}

DlvsymFunction true_dlvsym() noexcept {
  return reinterpret_cast<DlvsymFunction>(from_libc(dlvsym_address, "dlvsym"));
}

namespace {

int look_for(dl_phdr_info* object, std::size_t, void* address) noexcept {
  return contains(*object, reinterpret_cast<std::uintptr_t>(address)) ? 1 : 0;
}

}  // namespace

bool is_in_our_namespace(const void* address) noexcept {
  const event::ForkHold hold;
  return dl_iterate_phdr(look_for, const_cast<void*>(address)) != 0;
}

namespace {

constinit std::atomic<void*> next_dlsym_address{nullptr};
constinit std::atomic<void*> next_dlvsym_address{nullptr};

void* after_us(std::atomic<void*>& cache, const char* symbol, void* of_glibc) noexcept {
  void* found = cache.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  const DlsymFunction look_up = true_dlsym();
  if (look_up == nullptr) return of_glibc;
  found = look_up(RTLD_NEXT, symbol);
  if (found == nullptr || is_ours(found)) found = of_glibc;
  cache.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

DlsymFunction next_dlsym() noexcept {
  return reinterpret_cast<DlsymFunction>(
      after_us(next_dlsym_address, "dlsym", reinterpret_cast<void*>(true_dlsym())));
}

DlvsymFunction next_dlvsym() noexcept {
  return reinterpret_cast<DlvsymFunction>(
      after_us(next_dlvsym_address, "dlvsym", reinterpret_cast<void*>(true_dlvsym())));
}

void keep_loaded(const void* address) noexcept {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr || info.dli_fname[0] == '\0') return;
  const int saved_errno = errno;
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  // The program must not read of our failure.
  if (handle == nullptr || dlclose(handle) != 0) dlerror();
  errno = saved_errno;
}

bool is_ours(const void* address) noexcept {
  const auto* byte = static_cast<const char*>(address);
  return byte >= &own_begin && byte < &own_end;
}

bool is_in_a_cudart(const void* address) noexcept {
  Dl_info object{};
  if (dladdr(address, &object) == 0 || object.dli_fname == nullptr) return false;
  const char* const folder_end = std::strrchr(object.dli_fname, '/');
  return std::strstr(folder_end != nullptr ? folder_end : object.dli_fname, "libcudart") != nullptr;
}

bool are_in_one_object(const void* first, const void* second) noexcept {
  Dl_info of_first{}, of_second{};
  return dladdr(first, &of_first) != 0 && dladdr(second, &of_second) != 0 &&
         of_first.dli_fbase == of_second.dli_fbase;
}

}  // namespace traceagent::door
