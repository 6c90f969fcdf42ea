#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/hull.hpp"

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
// may bend within is little against what its collectives leave open (after a pause a new one);
// where two meet, the points around say what d is there (clock_lines.hpp), and from there to there
// it is taken as straight. Where a collective contradicts the ones before it at any drift within
// the limit, by a millisecond or more, one of the clocks was set: what follows knows nothing of
// what was before. The same goes for what lies behind a pause, if no line within the limits meets
// both sides. What contradicts by less, or again and again, or could only be joined by turning the
// order of times round, is refused.
//
// Only the hulls' corners of each segment are kept: memory does not grow with the collectives.
class ClockPair {
 public:
  explicit ClockPair(const ClockLimits& limits) : limits_(limits) {}

  // More or less in the order of time.
  void add(const CollectiveKey& key, const CollectiveTimes& own, const CollectiveTimes& other);
  [[nodiscard]] std::uint64_t collectives() const { return collectives_; }

  enum class Answer { solved, one_sided, contradictory };
  // One-sided: what is known bounds the difference from below or from above only. Contradictory:
  // see contradiction(). `span`: of all times of the own node.
  Answer solve(const ClockSpan& span);

  struct Contradiction {
    double by_ns = 0;
    CollectiveKey lower;
    CollectiveKey upper;
  };
  [[nodiscard]] const Contradiction& contradiction() const { return *contradiction_; }

  [[nodiscard]] const ClockDifference& difference() const { return difference_; }

 private:
  struct Segment {
    UpperHull below;
    UpperHull above_negated;
    double from_ns = 0;  // relative, of the collectives in it
    double until_ns = 0;
    double room_ns = std::numeric_limits<double>::infinity();  // the least that was left open
    bool begins_run = false;                                   // behind a pause, or a step
    std::optional<double> set_after_ns;  // begins behind a step, which was after this time
    double set_until_ns = 0;             // and before this one
    [[nodiscard]] bool is_empty() const { return !below.has_any() && !above_negated.has_any(); }
    [[nodiscard]] bool bounds_both() const { return below.has_any() && above_negated.has_any(); }
  };

  struct SetWithin {
    double after_ns = 0;  // relative
    double until_ns = 0;
  };

  [[nodiscard]] double relative(std::int64_t t_ns) const;
  [[nodiscard]] double least_at(double t_ns) const;
  [[nodiscard]] double most_at(double t_ns) const;
  [[nodiscard]] double longest_ns(const Segment& segment) const;
  bool compare(const ClockPoint* least, const ClockPoint* most);
  void begin_behind_step(double set_after_ns, double set_until_ns);
  void see(const ClockPoint* least, const ClockPoint* most);
  Segment& segment_at(double t_ns);
  bool find_knots(const ClockSpan& span);
  void add_knots(std::size_t segment, const ClockSpan& span);
  void begin_step(double set_after_ns, double set_until_ns);
  bool is_broken_before(std::size_t segment);
  void add_knot(double t_ns, std::size_t segment);
  [[nodiscard]] std::optional<ClockLines> lines_around(double t_ns, std::size_t first,
                                                       std::size_t end);
  bool keep_order();
  void add_steps();

  ClockLimits limits_;
  // Relative to these, doubles are exact enough: a day of nanoseconds needs 47 of their 53 bits.
  std::int64_t base_t_ns_ = 0;
  std::int64_t base_y_ns_ = 0;
  bool has_base_ = false;
  std::uint64_t collectives_ = 0;
  std::uint64_t since_step_ = 0;
  std::size_t steps_ = 0;
  // The points that bound the difference most closely now, as it may drift away from them.
  std::optional<ClockPoint> least_;
  std::optional<ClockPoint> most_;
  double least_from_ns_ = 0;  // when their collectives began
  double most_from_ns_ = 0;
  std::vector<Segment> segments_;
  std::optional<Contradiction> contradiction_;
  std::optional<Contradiction> last_step_;
  std::vector<ClockDifference::Knot> knots_;
  std::vector<SetWithin> set_within_;      // of the knots behind steps
  std::optional<SetWithin> pending_step_;  // and no knot since
  std::size_t pauses_with_step_ = 0;       // that no collective alone contradicts
  bool is_contradicted_ = false;           // somewhere the clocks wander faster
  ClockDifference difference_;
};

}  // namespace traceagent::tools
