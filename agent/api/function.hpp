#pragma once
// Every hooked function as a number and its names, from the rows of the tables beside this file.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traceagent::api {

// Means something only together with the agent version that wrote it: rings and their readers
// agree on it by layout_version.
enum class Function : std::uint16_t {
  none,
#define ROW(shown, symbol) symbol,
#define REGISTRATION(majors, name) name,
#define NCCL(name, parameters, arguments, ...) name,
#define DRIVER_ROW(id, symbol, name) id,
#define SECTION(section) first_##section, before_##section = first_##section - 1,
#include "agent/api/function_rows.inc"
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

/// A zero stands behind each text.
struct FunctionName {
  std::string_view symbol;  // as exported: cudaMemcpyAsync_ptsz
  std::string_view shown;   // as Kineto and HTA know it: cudaMemcpyAsync
  std::string_view category;
};

/// Of what is no function's number, as of none: empty texts.
FunctionName name_of(Function function) noexcept;
/// The function whose exported symbol this is; none if it is not hooked.
Function find_function(std::string_view symbol) noexcept;

}  // namespace traceagent::api
