#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_hideouts.hpp"
#include "tools/clocks/clock_knots.hpp"
#include "tools/clocks/clock_segments.hpp"

namespace traceagent::tools {

// Of one collective on one node: its ranks' latest start and earliest end. One of them may be
// unknown: of a broadcast only the root's start and the others' ends say anything.
struct CollectiveTimes {
  static constexpr std::int64_t no_start = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
  std::int64_t start_ns = no_start;
  std::int64_t end_ns = no_end;

  // On the node's clock; for the order among collectives.
  [[nodiscard]] std::int64_t any_ns() const { return start_ns != no_start ? start_ns : end_ns; }
};

// What two nodes' collectives allow as the difference of their clocks.
//
// A synchronising collective ends on no rank before its last rank has started. With d(t) what must
// be added to the one node's ("own") clock at t to have the other's, each collective says
//     start_other <= end_own + d(end_own)      d is not below a point
//     start_own + d(start_own) <= end_other    nor above another
//
// Clocks do not run evenly for hours. So the time is cut into segments, each so short that what d
// may bend within is little against what its collectives leave open (clock_segments.hpp; after a
// pause a new one); where two meet, the points around say what d is there (clock_lines.hpp,
// clock_knots.hpp), and from there to there it is taken as straight. Where a collective contradicts
// the ones before it at any drift within the limit, by a millisecond or more, one of the clocks was
// set: what follows knows nothing of what was before. The same goes for what lies behind a pause,
// if no line within the limits meets both sides. What contradicts by less, or again and again, or
// could only be joined by turning the order of times round, or by a step that nobody would set, is
// refused.
//
// In a pause a clock may have been set so that both sides still fit (clock_hideouts.hpp): that time
// is told as unsure, and so are a step next to it and what lies before all collectives or behind
// them. What lies on the two sides of a pause is then taken apart if the bound suffers nothing by
// it, or if together they contradict each other. Else the sides that know enough by themselves are
// taken alone, and the others with all, and as unsure.
//
// Only the hulls' corners of each segment are kept: memory does not grow with the collectives.
class ClockPair {
 public:
  explicit ClockPair(const ClockLimits& limits) : limits_(limits), segments_(limits) {}

  // More or less in the order of time.
  void add(const CollectiveKey& key, const CollectiveTimes& own, const CollectiveTimes& other);
  [[nodiscard]] std::uint64_t collectives() const { return collectives_; }
  // None of them says that the two clocks differ.
  [[nodiscard]] bool allows_equal_clocks() const { return allows_equal_clocks_; }

  enum class Answer { solved, one_sided, contradictory };
  // One-sided: what is known bounds the difference from below or from above only. Contradictory:
  // see contradiction(). `span`: of all times of the own node.
  Answer solve(const ClockSpan& span);

  using Contradiction = ClockSegments::Contradiction;
  [[nodiscard]] const Contradiction& contradiction() const { return contradiction_; }

  [[nodiscard]] const ClockDifference& difference() const { return difference_; }

 private:
  [[nodiscard]] double relative(std::int64_t t_ns) const;
  [[nodiscard]] std::int64_t absolute(double t_ns) const;
  struct Solution {
    ClockLimits limits;  // at which they were found
    ClockKnots found;
    std::vector<ClockKnots::Knot> relative;
    std::vector<ClockDifference::Knot> knots;  // the same, in order if is_in_order
    bool is_in_order = false;
  };
  [[nodiscard]] Solution solution(const ClockSpan& span);
  void set_knots(Solution& solution, std::vector<ClockKnots::Knot> relative) const;
  [[nodiscard]] Solution apart(Solution together, std::vector<ClockHideout>& hideouts,
                               const ClockSpan& span);
  bool mix(Solution& together, const Solution& made, std::vector<ClockHideout>& hideouts,
           const ClockSpan& span);
  [[nodiscard]] bool is_accepted(const Solution& solution) const;
  [[nodiscard]] ClockSpan unsure_span(const ClockHideout& hideout, const ClockSpan& whole);
  [[nodiscard]] std::vector<ClockDifference::Knot> absolute_knots(
      const std::vector<ClockKnots::Knot>& relative) const;
  void add_step(const ClockKnots::Knot& knot, const ClockDifference::Knot& before,
                const ClockDifference::Knot& behind);
  [[nodiscard]] ClockSpan seen_span() const;
  void add_unsure(const std::vector<ClockHideout>& hideouts, const ClockSpan& whole);
  void add_unsure_steps();
  Answer refused(const std::optional<Contradiction>& because);

  ClockLimits limits_;
  ClockSegments segments_;
  // Relative to these, doubles are exact enough: a day of nanoseconds needs 47 of their 53 bits.
  std::int64_t base_t_ns_ = 0;
  std::int64_t base_y_ns_ = 0;
  bool has_base_ = false;
  std::uint64_t collectives_ = 0;
  bool allows_equal_clocks_ = true;
  Contradiction contradiction_;
  ClockDifference difference_;
};

}  // namespace traceagent::tools
