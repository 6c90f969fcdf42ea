#pragma once
// See dlsym.cpp.

#include <cstdint>

namespace traceagent::door {

// Closed (every look-up passes untouched) until the constructor has read `doors.dlsym`.
void open_dlsym_door(bool is_open) noexcept;
bool dlsym_door_is_open() noexcept;
// Not even what has to be done where the door is shut: for a library that is not in its place.
void stay_out_of_look_ups() noexcept;

// Look-ups answered with a wrapper; look-ups of hooked names that had to be let through, because
// the library is of an unknown major or a second copy of a known one.
std::uint64_t dlsym_replaced() noexcept;
std::uint64_t dlsym_went_round() noexcept;

}  // namespace traceagent::door
