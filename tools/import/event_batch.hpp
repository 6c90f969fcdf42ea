#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::tools {

// Among so many events of a cycle one that says its batch comes: counters alone do not.
inline constexpr std::uint64_t batch_within_events = 64;

// "[epoch, batch]" as Composer's events have them in their args; or empty.
std::string batch_of(std::string_view event);

}  // namespace traceagent::tools
