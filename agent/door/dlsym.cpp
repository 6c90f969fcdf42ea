// The dlsym door: ctypes, JAX, CuPy and vLLM open libcudart and NCCL themselves.
//
// A plain C wrapper of dlsym breaks RTLD_NEXT and RTLD_DEFAULT, whose answer depends on the
// caller's return address. So dlsym_x86_64.S asks here whether the name is hooked and otherwise
// jumps to the real dlsym with the caller's frame untouched.

#include "agent/door/dlsym.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "agent/door/cu_init.hpp"
#include "agent/door/cupti_calls.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/start.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {
namespace {

constinit std::atomic<bool> open{false};
constinit std::atomic<bool> is_out{false};
constinit std::atomic<std::uint64_t> replaced{0};
constinit std::atomic<std::uint64_t> went_round{0};

const char* soname_of(const void* address) noexcept {
  Dl_info info{};
  link_map* object = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    return "";
  }
  const char* strings = nullptr;
  std::size_t offset = 0;
  for (const ElfW(Dyn)* entry = object->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) offset = entry->d_un.d_val;
  }
  return strings != nullptr && offset != 0 ? strings + offset : "";
}

Library library_of(const void* address, api::Function function) noexcept {
  // NCCL's functions are NCCL's wherever they are linked in; those of a tool that stands before the
  // driver are what the program calls.
  if (api::is_nccl(function)) return Library::nccl;
  if (api::is_driver(function)) return Library::cuda;
  const char* soname = soname_of(address);
  for (std::size_t i = 0; i < library_count; ++i) {
    if (std::strcmp(soname, library_names[i].soname) == 0) return static_cast<Library>(i);
  }
  return Library::count;
}

// nullptr where the caller gets what it asked for, and the coverage report says so.
void* replace(void* real, api::Function function) noexcept {
  const Library library = library_of(real, function);
  void* wrapper = library != Library::count ? wrapper_for_target(library, function, real) : nullptr;
  (wrapper != nullptr ? replaced : went_round).fetch_add(1, std::memory_order_relaxed);
  return wrapper;
}

// What dlsym_x86_64.S answers with "not there".
void* not_there() noexcept { return reinterpret_cast<void*>(1); }

// The program, or what is preloaded before us. Not asked by RTLD_DEFAULT, which for us begins with
// ourselves (-Bsymbolic).
bool stands_before_us(DlsymFunction look_up, const char* symbol) noexcept {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr || look_up == nullptr) return false;
  void* const first = look_up(program, symbol);
  dlclose(program);
  return first != nullptr && !is_ours(first);
}

// A program that asks whether anybody has cudaMalloc shall not be told of our wrapper alone. The
// failed look-up is made for the error that dlerror() then says.
void* unless_ours_alone(void* handle, const char* symbol) noexcept {
  if (symbol_in_object("", symbol) != nullptr) return nullptr;
  const DlsymFunction look_up = true_dlsym();
  if (handle == RTLD_DEFAULT && stands_before_us(look_up, symbol)) return nullptr;
  return look_up != nullptr && look_up(RTLD_NEXT, symbol) == nullptr ? not_there() : nullptr;
}

// By their first letters alone, and without a call of libc's: a sanitizer's runtime looks up what
// it stands before (strcmp, mmap, ...) by dlsym, and its strcmp leads nowhere until that is done.
bool may_be_hooked(const char* symbol) noexcept {
  if (symbol[0] == '_' && symbol[1] == '_') symbol += 2;
  return (symbol[0] == 'c' && symbol[1] == 'u') ||
         (symbol[0] == 'n' && symbol[1] == 'c' && symbol[2] == 'c');
}

bool is_hooked(const char* symbol) noexcept {
  if (is_cupti_name(symbol)) return true;
  const api::Function function = find_function(symbol);
  return function != api::Function::none && function < api::Function::nvtx_range;
}

// nullptr: as the true dlsym answers to the caller.
template <class LookUp>
void* wrapper_for(void* handle, const char* symbol, const LookUp& look_up) noexcept {
  if (symbol == nullptr || !may_be_hooked(symbol)) return nullptr;
  if (is_out.load(std::memory_order_relaxed)) return nullptr;
  // These find our exported wrapper by themselves where they should, and depend on the caller.
  const bool by_caller = handle == RTLD_NEXT || handle == RTLD_DEFAULT;
  const bool is_open = open.load(std::memory_order_relaxed);
  if (is_nccl_profiler_name(symbol)) {
    return by_caller ? nullptr : nccl_profiler_for(symbol, look_up(), is_open);
  }
  if (!is_hooked(symbol)) return nullptr;
  // Whether the door is open or not.
  if (by_caller) return unless_ours_alone(handle, symbol);
  void* real = look_up();
  if (real == nullptr) return nullptr;
  if (is_ours(real)) return unless_ours_alone(handle, symbol);
  const api::Function function = find_function(symbol);
  if (function == api::Function::cuInit_v1) {
    return is_open || must_guard_cu_init() ? guard_of_cu_init(real) : nullptr;
  }
  if (!is_open) return nullptr;
  if (is_cupti_name(symbol)) return cupti_wrapper_for(symbol, real);
  if (api::is_driver(function) && !driver_is_open.load(std::memory_order_relaxed)) return nullptr;
  return replace(real, function);
}

}  // namespace

void open_dlsym_door(bool is_open) noexcept { open.store(is_open, std::memory_order_relaxed); }
void stay_out_of_look_ups() noexcept { is_out.store(true, std::memory_order_relaxed); }
bool dlsym_door_is_open() noexcept { return open.load(std::memory_order_relaxed); }
std::uint64_t dlsym_replaced() noexcept { return replaced.load(std::memory_order_relaxed); }
std::uint64_t dlsym_went_round() noexcept { return went_round.load(std::memory_order_relaxed); }

}  // namespace traceagent::door

using traceagent::door::next_dlsym;
using traceagent::door::next_dlvsym;

namespace {
void* no_dlsym(void*, const char*) { return nullptr; }
void* no_dlvsym(void*, const char*, const char*) { return nullptr; }
}  // namespace

// Called and read by dlsym_x86_64.S. The targets are never null: a jump to nowhere would be ours.
extern "C" {
[[gnu::visibility("hidden")]] void* traceagent_dlsym_target = reinterpret_cast<void*>(&no_dlsym);
[[gnu::visibility("hidden")]] void* traceagent_dlvsym_target = reinterpret_cast<void*>(&no_dlvsym);

[[gnu::visibility("hidden")]] void* traceagent_dlsym_lookup(void* handle, const char* symbol) {
  const auto real = next_dlsym();
  if (real == nullptr) return nullptr;
  __atomic_store_n(&traceagent_dlsym_target, reinterpret_cast<void*>(real), __ATOMIC_RELAXED);
  return traceagent::door::wrapper_for(handle, symbol, [&] { return real(handle, symbol); });
}

[[gnu::visibility("hidden")]] void* traceagent_dlvsym_lookup(void* handle, const char* symbol,
                                                             const char* version) {
  const auto real = next_dlvsym();
  if (real == nullptr) return nullptr;
  __atomic_store_n(&traceagent_dlvsym_target, reinterpret_cast<void*>(real), __ATOMIC_RELAXED);
  return traceagent::door::wrapper_for(handle, symbol,
                                       [&] { return real(handle, symbol, version); });
}
}
