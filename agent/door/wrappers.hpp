#pragma once
// The wrappers as addresses, for the dlsym door. Each file of wrappers lists its own.

#include <span>
#include <string_view>
#include <vector>

#include "agent/api/function.hpp"
#include "agent/door/targets.hpp"

namespace traceagent::door {

struct Wrapper {
  api::Function function;
  void* address;
};

std::span<const Wrapper> cudart_11_wrappers() noexcept;
std::span<const Wrapper> cudart_12_wrappers() noexcept;
std::span<const Wrapper> cudart_13_wrappers() noexcept;
std::span<const Wrapper> nccl_wrappers() noexcept;
std::span<const Wrapper> driver_wrappers() noexcept;

using api::find_function;
// As find_function(), or a function that is shown under this name: cuMemAlloc is cuMemAlloc_v2.
api::Function find_called(std::string_view name) noexcept;
// The names that users know functions by, some more than once.
std::vector<std::string_view> called_names();

// Our wrapper for a library's function; nullptr where that library's major has none.
void* wrapper_of(Library library, api::Function function) noexcept;

// The same, once it is tied to `real`, which the caller would have got without us. nullptr where
// another function is behind the wrapper already: a second copy of the library.
void* wrapper_for_target(Library library, api::Function function, void* real) noexcept;

}  // namespace traceagent::door
