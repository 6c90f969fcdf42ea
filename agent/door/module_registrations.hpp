#pragma once
// To which copy of libcudart a library registers its kernels. Each module is a new one: by it a
// second copy is seen before any kernel of its callers is launched.

#include <atomic>
#include <cstdint>

#include "agent/door/library_copies.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/targets.hpp"

namespace traceagent::door {

// One for each major. Constructors and destructors of libraries run under the loader's lock.
class ModuleRegistrations {
 public:
  // The real __cudaRegisterFunction. `host_function` lies in the library that registers.
  void* function_for(Library library, void** module, const void* host_function) noexcept {
    if (module_.exchange(module, std::memory_order_relaxed) == module) {
      return function_.load(std::memory_order_relaxed);
    }
    if (void* const known = of_all(library)) return known;
    // Of a library's thousand modules the first tells for all.
    if (!is_of_latest(host_function)) look_up(library, host_function);
    // Also before copies are told apart: at its end, from wherever, they may be.
    if (has_copy(library)) remember_module(module, end_.load(std::memory_order_relaxed));
    return function_.load(std::memory_order_relaxed);
  }

  // The real __cudaUnregisterFatBinary; it is called from anywhere. The next module may have the
  // same address.
  void* end_for(Library library, void** module) noexcept {
    module_.store(nullptr, std::memory_order_relaxed);
    latest_end_.store(0, std::memory_order_relaxed);
    void* const end = unregister_of(module);
    if (end != nullptr) return end;
    void* const known = known_target(library, api::Function::__cudaUnregisterFatBinary);
    if (known != nullptr) return known;
    return find_for_caller(library, api::Function::__cudaUnregisterFatBinary, nullptr);
  }

 private:
  // Of the global scope, which does not shrink: PyTorch has a thousand modules.
  void* of_all(Library library) noexcept {
    if (has_copy(library)) return nullptr;
    void* const function = known_target(library, api::Function::__cudaRegisterFunction);
    void* const end = known_target(library, api::Function::__cudaUnregisterFatBinary);
    if (function == nullptr || end == nullptr) return nullptr;
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

  bool is_of_latest(const void* host_function) const noexcept {
    const auto byte = reinterpret_cast<std::uintptr_t>(host_function);
    return byte >= latest_begin_.load(std::memory_order_relaxed) &&
           byte < latest_end_.load(std::memory_order_relaxed);
  }

  void look_up(Library library, const void* host_function) noexcept {
    using api::Function;
    function_.store(find_for_caller(library, Function::__cudaRegisterFunction, host_function),
                    std::memory_order_relaxed);
    // Now, since it is called when the process ends or a library goes: no time to look things up.
    end_.store(find_for_caller(library, Function::__cudaUnregisterFatBinary, host_function),
               std::memory_order_relaxed);
    ObjectPlace object;
    const bool is_known = find_object(host_function, object);
    latest_begin_.store(is_known ? object.begin : 0, std::memory_order_relaxed);
    latest_end_.store(is_known ? object.end : 0, std::memory_order_relaxed);
  }

  std::atomic<void**> module_{nullptr};
  std::atomic<void*> function_{nullptr}, end_{nullptr};
  std::atomic<std::uintptr_t> latest_begin_{0}, latest_end_{0};  // the library that was looked at
};

}  // namespace traceagent::door
