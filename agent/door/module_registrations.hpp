#pragma once
// To which copy of libcudart a library registers its kernels. Each module is a new one: by it a
// second copy is seen before any kernel of its callers is launched.

#include <atomic>

#include "agent/door/library_copies.hpp"
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
    void* const function =
        find_for_caller(library, api::Function::__cudaRegisterFunction, host_function);
    // Now, since it is called when the process ends or a library goes: no time to look things up.
    void* const end =
        find_for_caller(library, api::Function::__cudaUnregisterFatBinary, host_function);
    function_.store(function, std::memory_order_relaxed);
    if (are_told_apart(library)) remember_module(module, end);
    return function;
  }

  // The real __cudaUnregisterFatBinary; it is called from anywhere. The next module may have the
  // same address.
  void* end_for(Library library, void** module) noexcept {
    module_.store(nullptr, std::memory_order_relaxed);
    void* const end = unregister_of(module);
    if (end != nullptr) return end;
    void* const known = known_target(library, api::Function::__cudaUnregisterFatBinary);
    if (known != nullptr) return known;
    return find_for_caller(library, api::Function::__cudaUnregisterFatBinary, nullptr);
  }

 private:
  std::atomic<void**> module_{nullptr};
  std::atomic<void*> function_{nullptr};
};

}  // namespace traceagent::door
