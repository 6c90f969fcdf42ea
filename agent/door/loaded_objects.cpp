#include "agent/door/loaded_objects.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "agent/door/elf_tables.hpp"
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

struct Search {
  const char* soname;
  WantedSymbol wanted;
  void* found;
  bool is_behind_us;
};

// A second one that is preloaded: it would look for ours.
bool is_an_agent(const ElfTables& tables) noexcept {
  return defined_in(tables, {"InitializeInjectionNvtx2", nullptr}) != nullptr &&
         defined_in(tables, {"ncclGetUniqueId", nullptr}) != nullptr;
}

int visit(dl_phdr_info* object, std::size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  if (contains(*object, &own_begin)) {
    search.is_behind_us = true;
    return 0;
  }
  if (search.soname[0] == '\0' && !search.is_behind_us) return 0;
  const ElfTables tables = elf_tables(*object);
  if (is_an_agent(tables)) return 0;
  if (search.soname[0] != '\0' && !is_same_text(tables.soname, search.soname)) return 0;
  search.found = defined_in(tables, search.wanted);
  return search.found != nullptr ? 1 : 0;
}

struct SearchBeside {
  const void* address;
  const char* symbol;
  void* found;
};

int visit_beside(dl_phdr_info* object, std::size_t, void* data) noexcept {
  auto& search = *static_cast<SearchBeside*>(data);
  if (!contains(*object, search.address)) return 0;
  search.found = defined_in(elf_tables(*object), {search.symbol, nullptr});
  return 1;
}

// In the loader's own list, without a lock: dl_iterate_phdr may be a sanitizer's that has yet to
// look its own up, by our dlsym. What the program started with stands first and is never unloaded.
void* symbol_of_startup(const char* soname, const char* symbol) noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const ElfTables tables = elf_tables(object->l_addr, object->l_ld);
    if (!is_same_text(tables.soname, soname)) continue;
    if (void* found = defined_in(tables, {symbol, nullptr})) return found;
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
  Search search{soname, {symbol, version}, nullptr, false};
  const event::ForkHold hold;
  dl_iterate_phdr(visit, &search);
  return search.found;
}

void* symbol_beside(const void* address, const char* symbol) noexcept {
  SearchBeside search{address, symbol, nullptr};
  const event::ForkHold hold;
  dl_iterate_phdr(visit_beside, &search);
  return search.found;
}

namespace {

struct PlaceSearch {
  const void* address;
  ObjectPlace& place;
};

int visit_place(dl_phdr_info* object, std::size_t, void* data) noexcept {
  const auto& search = *static_cast<PlaceSearch*>(data);
  if (!contains(*object, search.address)) return 0;
  ObjectPlace& place = search.place;
  place.begin = UINTPTR_MAX;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    place.begin = std::min(place.begin, begin);
    place.end = std::max<std::uintptr_t>(place.end, begin + part.p_memsz);
  }
  return 1;
}

}  // namespace

bool find_object(const void* address, ObjectPlace& place) noexcept {
  PlaceSearch search{address, place};
  const event::ForkHold hold;
  return dl_iterate_phdr(visit_place, &search) == 1;
}

DlsymFunction true_dlsym() noexcept {
  return reinterpret_cast<DlsymFunction>(from_libc(dlsym_address, "dlsym"));
}

DlvsymFunction true_dlvsym() noexcept {
  return reinterpret_cast<DlvsymFunction>(from_libc(dlvsym_address, "dlvsym"));
}

namespace {

int look_for(dl_phdr_info* object, std::size_t, void* address) noexcept {
  return contains(*object, address) ? 1 : 0;
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

namespace {

const link_map* object_of(const void* address) noexcept {
  Dl_info info{};
  link_map* object = nullptr;
  const bool is_known =
      dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0;
  return is_known ? object : nullptr;
}

}  // namespace

const char* path_of_object(const void* address) noexcept {
  const link_map* object = object_of(address);
  return object != nullptr && object->l_name != nullptr ? object->l_name : "";
}

bool is_tied_to_ours(const void* address, const char* symbol) noexcept {
  const link_map* object = object_of(address);
  const auto is_wanted = [](const void* function) { return is_ours(function); };
  return object != nullptr && is_tied(object->l_addr, object->l_ld, symbol, is_wanted);
}

void keep_loaded(const void* address) noexcept {
  const char* const path = path_of_object(address);
  if (path[0] == '\0') return;
  const int saved_errno = errno;
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
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
