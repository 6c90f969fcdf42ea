#pragma once
// What the APIs' return codes are called, from the tables beside this file.

#include <cstdint>
#include <string_view>

namespace traceagent::api {

/// `category` as FunctionName says it. Empty for success, and for what the tables do not know.
std::string_view error_name(std::string_view category, std::int32_t code) noexcept;

}  // namespace traceagent::api
