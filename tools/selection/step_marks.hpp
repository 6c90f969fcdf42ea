#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace traceagent::tools {

// How traces mark their steps, the surest first: by slices named ProfilerStep#7 (PyTorch,
// ourselves); by "step_num" in the arguments of events (SageMaker Debugger); by "epoch" and "batch"
// there (Composer).
enum class StepMark : std::uint8_t { profiler_step, step_num, batch };
inline constexpr std::size_t step_marks = 3;

struct MarkedStep {
  StepMark mark = StepMark::profiler_step;
  std::int64_t number = 0;
};

// The step that an event belongs to, by its whole line and what of it follows the time
// (TraceLine::after_ts). Nothing where it says none, or is the end of a slice: Composer has the
// next batch there.
std::optional<MarkedStep> marked_step(std::string_view line, std::string_view after_ts);

}  // namespace traceagent::tools
