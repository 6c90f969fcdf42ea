#pragma once
// How launches and device work of a window came together, counted.

#include <cstdint>
#include <vector>

#include "agent/drain/coverage.hpp"
#include "agent/drain/launch_match.hpp"

namespace traceagent::drain {

struct DeviceSlice;

bool is_recorded_by_cupti(const ring::Ring& ring) noexcept;

// `works`: for each launch how much device work it has.
DeviceMatch count_matches(const ring::Ring& ring, const ring::Window& window,
                          const event::TickConverter& clock,
                          const std::vector<ThreadEvents>& threads,
                          const std::vector<Launch>& launches,
                          const std::vector<std::uint32_t>& works,
                          const std::vector<DeviceSlice>& slices);

// What the device side lost is known only after the window's end: all that no earlier file told of
// is this window's. Call before its file is written.
void settle_device_losses(const ring::Ring& ring, const ring::Window& window) noexcept;
// Counts launches whose work had not arrived, in the ring and in the window.
void count_late(const ring::Ring& ring, const ring::Window& window, std::uint64_t late) noexcept;

}  // namespace traceagent::drain
