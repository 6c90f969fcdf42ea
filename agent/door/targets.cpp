#include "agent/door/targets.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "agent/door/library_copies.hpp"
#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {

constinit std::array<std::array<Target, api::function_count>, library_count> targets{};

namespace {

constinit std::array<std::atomic<const void*>, library_count> homes{};

void* look_up(void* handle, const char* symbol, const char* version) noexcept {
  if (version != nullptr) {
    const DlvsymFunction with_version = true_dlvsym();
    return with_version != nullptr ? with_version(handle, symbol, version) : nullptr;
  }
  const DlsymFunction without_version = true_dlsym();
  return without_version != nullptr ? without_version(handle, symbol) : nullptr;
}

// What the caller would have got without us: the loader takes an unversioned definition too, so a
// tool that is preloaded behind us has its turn, but dlvsym does not.
void* next_after_us(const LibraryName& library, const char* symbol) noexcept {
  void* found = look_up(RTLD_NEXT, symbol, nullptr);
  const bool is_other_tool = found != nullptr && !is_ours(found) && !is_in_a_cudart(found);
  if (library.version == nullptr || is_other_tool) return found;
  return look_up(RTLD_NEXT, symbol, library.version);
}

void* in_loaded_library(const LibraryName& library, const char* symbol) noexcept {
  void* handle = dlopen(library.soname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = look_up(handle, symbol, library.version);
  // Simulated and future builds may leave their symbols unversioned.
  if (found == nullptr) found = look_up(handle, symbol, nullptr);
  dlclose(handle);
  return found;
}

void* at_home(Library library, const char* symbol) noexcept {
  const void* const there = home(library);
  return there != nullptr ? symbol_beside(there, symbol) : nullptr;
}

// nullptr: nobody has it in this version, under whatever SONAME: wheels rename what they bundle
// (libcudart-d0da41ae.so.12), and who was linked to that goes by the version node, which stays.
// libtorch may carry NCCL within itself. A libcudart of another major is not the same function.
void* of_its_version(Library library, const char* symbol) noexcept {
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  void* found = next_after_us(name, symbol);
  if (found == nullptr || is_ours(found)) found = at_home(library, symbol);
  if (found == nullptr) found = in_loaded_library(name, symbol);
  if (found == nullptr || is_ours(found)) found = symbol_in_object(name.soname, symbol);
  if (found != nullptr || library == Library::cuda) return found;
  return symbol_in_object("", symbol, name.version);
}

// What a caller means that asks for no version, which the loader takes to be our first: the next
// one of whatever version, or that of a library that carries libcudart within itself.
void* of_no_version(const char* symbol) noexcept {
  void* found = look_up(RTLD_NEXT, symbol, nullptr);
  return found != nullptr && !is_ours(found) ? found : symbol_in_object("", symbol, "");
}

void keep(Library library, api::Function function, void* found) noexcept {
  keep_loaded(found);
  if (!must_tell_callers_apart(library)) {
    target(library, function).store(found, std::memory_order_relaxed);
  }
  std::atomic<const void*>& there = homes[static_cast<std::size_t>(library)];
  if (there.load(std::memory_order_relaxed) != nullptr || is_global(library, function)) return;
  there.store(found, std::memory_order_relaxed);
  watch_for_other_copies();
}

void* find(Library library, api::Function function, bool is_called) noexcept {
  const int saved_errno = errno;
  const char* symbol = api::name_of(function).symbol.data();
  const bool is_versioned = library_names[static_cast<std::size_t>(library)].version != nullptr;
  void* found = of_its_version(library, symbol);
  if (found == nullptr && is_called && is_versioned) found = of_no_version(symbol);
  if (found != nullptr) keep(library, function, found);
  dlerror();  // the failed look-ups are ours: the program must not read them
  errno = saved_errno;
  return found;
}

}  // namespace

bool is_global(Library library, api::Function function) noexcept {
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  const void* const found = next_after_us(name, api::name_of(function).symbol.data());
  return found != nullptr && !is_ours(found);
}

const void* home(Library library) noexcept {
  return homes[static_cast<std::size_t>(library)].load(std::memory_order_relaxed);
}

void* find_target(Library library, api::Function function) noexcept {
  return find(library, function, false);
}

void* find_called_target(Library library, api::Function function, const void* caller) noexcept {
  void* const found = find(library, function, true);
  give_back_other_copies();
  void* const own = of_own_copy(library, function, caller);
  return own != nullptr ? own : found;
}

}  // namespace traceagent::door
