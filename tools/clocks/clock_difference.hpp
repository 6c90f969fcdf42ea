#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "tools/clocks/clock_lines.hpp"

namespace traceagent::tools {

struct ClockSpan {
  std::int64_t from_ns = 0;  // on the node's own clock
  std::int64_t until_ns = 0;
};

ClockSpan widened(const ClockSpan& span, double by_ns);  // to both sides

// Somewhere in this time one of the two clocks was set, and the difference changed by so much.
struct ClockStep {
  ClockSpan span;
  double by_ns = 0;
  double bound_ns = 0;  // of times within the span
};

// Within this time one of the clocks may have been set, by so much at most (infinite: not known),
// and nothing shows it: then the bounds do not hold here.
struct ClockUnsure {
  ClockSpan span;
  double by_ns = 0;
};

// What takes one clock's times to another's, and how wrong it may be.
class ClockDifference {
 public:
  struct Knot {
    std::int64_t at_ns = 0;
    double offset_ns = 0;
    double bound_ns = 0;
    bool after_step = false;  // the clock was set between the knot before and this one
    bool is_kinked = false;   // around it, it wanders faster than the limit
  };
  ClockDifference() = default;
  // In the order of time, at least one.
  ClockDifference(const std::vector<Knot>& knots, const ClockLimits& limits);

  // The other way round.
  [[nodiscard]] ClockDifference inverse() const;

  // With nothing corrected: what was taken away is part of what may be wrong.
  [[nodiscard]] ClockDifference uncorrected() const;

  [[nodiscard]] const ClockLimits& limits() const { return limits_; }
  [[nodiscard]] const trace::ClockCorrection& correction() const { return correction_; }
  // The largest error of any time in the span; what lies in a step is left out. Between two knots
  // the difference may wander away from the straight line, as far as the limits let it.
  [[nodiscard]] double bound_ns(const ClockSpan& span) const;

  std::vector<ClockStep> steps;
  std::vector<ClockUnsure> unsure;
  // A clock that was set before or behind, by any amount, is seen by nobody. Nothing: that none was
  // set is taken on trust (the marks of one barrier show no step at all).
  std::optional<ClockSpan> seen;

 private:
  [[nodiscard]] double bound_between(std::size_t knot, const ClockSpan& part) const;

  std::vector<Knot> knots_;
  ClockLimits limits_;
  trace::ClockCorrection correction_;
};

}  // namespace traceagent::tools
