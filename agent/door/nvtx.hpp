#pragma once
// See nvtx.cpp.

#include <cstdint>

namespace traceagent::door {

// Closed (NVTX's clients are told that no tool is here) until the constructor has read
// `doors.nvtx`.
void open_nvtx_door(bool is_open) noexcept;

// Libraries of this process whose NVTX calls come to us.
std::uint64_t nvtx_clients() noexcept;

}  // namespace traceagent::door
