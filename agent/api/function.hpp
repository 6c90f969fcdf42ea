#pragma once
// Every hooked function as a number and its names, from the rows of the tables beside this file.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traceagent::api {

#define EACH_plain(name) ROW(name, name)
#define EACH_ptsz(name) ROW(name, name) ROW(name, name##_ptsz)
#define EACH_ptds(name) ROW(name, name) ROW(name, name##_ptds)
#define IN_since_11(...) __VA_ARGS__
#define IN_since_12(...) __VA_ARGS__
#define IN_since_13(...) __VA_ARGS__
#define IN_until_12(...) __VA_ARGS__
#define IN_before_12(...)
#define IN_before_13(...)
#define CUDART(majors, variant, name, parameters, arguments, ...) IN_##majors(EACH_##variant(name))
// cuda.h makes macros of the driver's own names: they are only stringized and pasted here.
#define SUFFIX_v1
#define SUFFIX_v2 "_v2"
#define DRIVER_EACH_plain(id, symbol, name) DRIVER_ROW(id, symbol, name)
#define DRIVER_EACH_ptsz(id, symbol, name) \
  DRIVER_ROW(id, symbol, name) DRIVER_ROW(id##_ptsz, symbol "_ptsz", name)
#define DRIVER_EACH_ptds(id, symbol, name) \
  DRIVER_ROW(id, symbol, name) DRIVER_ROW(id##_ptds, symbol "_ptds", name)
#define DRIVER(name, abi, since, variant, ...) \
  DRIVER_EACH_##variant(name##_##abi, #name SUFFIX_##abi, #name)
#define DRIVER_ANNOUNCEMENT(name, abi, since) DRIVER_ROW(name##_##abi, #name SUFFIX_##abi, #name)

// Means something only together with the agent version that wrote it: rings and their readers
// agree on it by layout_version.
enum class Function : std::uint16_t {
  none,
#define ROW(shown, symbol) symbol,
#include "agent/api/cuda_runtime.def"
#undef ROW
#define REGISTRATION(majors, name) name,
#include "agent/api/registration.def"
#undef REGISTRATION
  first_nccl,
  before_nccl = first_nccl - 1,
#define NCCL(name, parameters, arguments, ...) name,
#include "agent/api/nccl.def"
#undef NCCL
  first_driver,
  before_driver = first_driver - 1,
#define DRIVER_ROW(id, symbol, name) id,
#include "agent/api/cuda_driver.def"
#include "agent/api/driver_announcement.def"
#undef DRIVER_ROW
  nvtx_range,
  nvtx_mark,
  count
};

inline constexpr std::size_t function_count = static_cast<std::size_t>(Function::count);

constexpr bool is_nccl(Function function) noexcept {
  return function >= Function::first_nccl && function < Function::first_driver;
}
constexpr bool is_driver(Function function) noexcept {
  return function >= Function::first_driver && function < Function::nvtx_range;
}

struct FunctionName {
  std::string_view symbol;  // as exported: cudaMemcpyAsync_ptsz
  std::string_view shown;   // as Kineto and HTA know it: cudaMemcpyAsync
  std::string_view category;
};

// nvcc 13's __cudaLaunchKernel is what every consumer counts as cudaLaunchKernel.
constexpr std::string_view without_underscores(std::string_view name) {
  return name.starts_with("__") ? name.substr(2) : name;
}

inline constexpr FunctionName function_names[function_count + 1] = {
    {"", "", ""},
#define ROW(shown, symbol) {#symbol, without_underscores(#shown), "cuda_runtime"},
#include "agent/api/cuda_runtime.def"
#undef ROW
#define REGISTRATION(majors, name) {#name, #name, "cuda_runtime"},
#include "agent/api/registration.def"
#undef REGISTRATION
#define NCCL(name, parameters, arguments, ...) {#name, #name, "nccl"},
#include "agent/api/nccl.def"
#undef NCCL
#define DRIVER_ROW(id, symbol, name) {symbol, name, "cuda_driver"},
#include "agent/api/cuda_driver.def"
#include "agent/api/driver_announcement.def"
#undef DRIVER_ROW
    {"nvtx_range", "range", "user_annotation"},
    {"nvtx_mark", "mark", "user_annotation"},
};

#undef DRIVER
#undef DRIVER_ANNOUNCEMENT
#undef DRIVER_EACH_plain
#undef DRIVER_EACH_ptsz
#undef DRIVER_EACH_ptds
#undef SUFFIX_v1
#undef SUFFIX_v2
#undef CUDART
#undef EACH_plain
#undef EACH_ptsz
#undef EACH_ptds
#undef IN_since_11
#undef IN_since_12
#undef IN_since_13
#undef IN_until_12
#undef IN_before_12
#undef IN_before_13

inline constexpr const FunctionName& name_of(Function function) noexcept {
  const auto index = static_cast<std::size_t>(function);
  return function_names[index < function_count ? index : 0];
}

}  // namespace traceagent::api
