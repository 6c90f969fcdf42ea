#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/clock_correction.hpp"

namespace traceagent::tools {

// Composer's: all ranks pass a barrier, note the time right after it, and how long it took them at
// most. Each rank's time is at most its bound later than the moment at which the last one came.
struct BarrierMark {
  std::int64_t rank = 0;
  std::int64_t at_ns = 0;  // from 0 to 9e18: the difference of two is a number of nanoseconds, too
  std::int64_t bound_ns = 0;
  std::int64_t moved_ns = 0;  // how far off a merge may have left its time
  // Of the cycle that it begins (import/mark_batches.hpp), the same on all ranks. Empty: not known.
  std::string batch;
};

// Each cycle has one. Those of the lowest rank that has any: in a file that was merged all times
// are of one clock already.
std::vector<BarrierMark> barriers_of(const std::string& path);

// A metadata event whose value is a time of the clock that is corrected: as it is to be written
// then, so that a file that is merged again is not corrected twice. Nothing: as it is.
std::optional<std::string> corrected_mark(std::string_view metadata_event,
                                          const trace::ClockCorrection& correction);

}  // namespace traceagent::tools
