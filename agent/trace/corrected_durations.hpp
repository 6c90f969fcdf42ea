#pragma once

#include <cstdint>
#include <string>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/trace_line.hpp"

namespace traceagent::trace {

// Takes the ends of one input's slices to the merged file's clock as their begins are taken: what
// touched or lay within another slice still does, and viewers drop what lies across one.
class CorrectedDurations {
 public:
  // `begin_ns`: absolute, as it stands in the file. A line that is replaced is valid until the next
  // call.
  void apply(const ClockCorrection& correction, std::int64_t begin_ns, TraceLine& line);

 private:
  std::string text_;
};

}  // namespace traceagent::trace
