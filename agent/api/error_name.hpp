#pragma once
// What the APIs' return codes are called, from the tables beside this file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace traceagent::api {

struct ErrorName {
  std::int32_t code;
  std::string_view name;
};

#define ERROR(code, name) {code, #name},
inline constexpr ErrorName cuda_runtime_errors[] = {
#include "agent/api/cuda_runtime_errors.def"
};
inline constexpr ErrorName cuda_driver_errors[] = {
#include "agent/api/cuda_driver_errors.def"
};
inline constexpr ErrorName nccl_errors[] = {
#include "agent/api/nccl_errors.def"
};
#undef ERROR

template <std::size_t size>
constexpr std::string_view error_in(const ErrorName (&errors)[size], std::int32_t code) noexcept {
  const ErrorName* found = std::lower_bound(
      std::begin(errors), std::end(errors), code,
      [](const ErrorName& each, std::int32_t wanted) { return each.code < wanted; });
  return found != std::end(errors) && found->code == code ? found->name : std::string_view();
}

// `category` as FunctionName says it. Empty for success, and for what the tables do not know.
constexpr std::string_view error_name(std::string_view category, std::int32_t code) noexcept {
  if (category == "cuda_runtime") return error_in(cuda_runtime_errors, code);
  if (category == "cuda_driver") return error_in(cuda_driver_errors, code);
  return category == "nccl" ? error_in(nccl_errors, code) : std::string_view();
}

}  // namespace traceagent::api
