#pragma once
// How launches and device work of a window came together, counted.

#include <cstdint>
#include <vector>

#include "agent/drain/coverage.hpp"
#include "agent/drain/launch_match.hpp"
#include "agent/drain/stream_lanes.hpp"

namespace traceagent::drain {

struct DeviceSlice;

bool is_recorded_by_cupti(const ring::Ring& ring) noexcept;

// `works`: for each launch how much device work it has.
DeviceMatch count_matches(const ring::Ring& ring, const ring::Window& window,
                          const event::TickConverter& clock,
                          const std::vector<ThreadEvents>& threads,
                          const std::vector<Launch>& launches,
                          const std::vector<std::uint32_t>& works, const StreamLanes& lanes,
                          const std::vector<DeviceSlice>& slices);

}  // namespace traceagent::drain
