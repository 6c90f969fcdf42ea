#include "agent/door/targets.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "agent/door/loaded_objects.hpp"

namespace traceagent::door {

constinit std::array<std::array<Target, api::function_count>, library_count> targets{};

namespace {

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

}  // namespace

void* find_target(Library library, api::Function function) noexcept {
  const int saved_errno = errno;
  const LibraryName& name = library_names[static_cast<std::size_t>(library)];
  const char* symbol = api::name_of(function).symbol.data();
  void* found = next_after_us(name, symbol);
  if (found == nullptr || is_ours(found)) found = in_loaded_library(name, symbol);
  if (found == nullptr || is_ours(found)) found = symbol_in_object(name.soname, symbol);
  // libtorch may carry NCCL within itself; a libcudart of another major is not the same function.
  if (found == nullptr && library == Library::nccl) found = symbol_in_object("", symbol);
  if (found != nullptr) keep_loaded(found);
  dlerror();  // the failed look-ups are ours: the program must not read them
  errno = saved_errno;
  if (found != nullptr) target(library, function).store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace traceagent::door
