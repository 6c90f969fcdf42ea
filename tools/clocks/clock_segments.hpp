#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tools/clocks/clock_lines.hpp"
#include "tools/clocks/hull.hpp"

namespace traceagent::tools {

// NTP slews what is less than 128 ms, people and chrony may set it by less.
constexpr double least_step_ns = 1e6;
// No collective is closer; so a segment is some seconds long at least.
constexpr double least_room_ns = 1e3;

// A time in which what the difference of two clocks may bend is little. All times are relative to
// what the owner chose.
struct ClockSegment {
  explicit ClockSegment(const ClockLimits& limits);
  UpperHull below;
  UpperHull above_negated;
  double from_ns = 0;  // of the collectives in it
  double until_ns = 0;
  double room_ns = std::numeric_limits<double>::infinity();  // the least that was left open
  // Of the collectives that leave so little open that a step next to them shows: the first and the
  // last, the longest time between two; and the least that those before and behind leave open.
  bool has_close = false;
  double close_from_ns = 0;
  double close_until_ns = 0;
  double longest_pause_ns = 0;
  double room_before_ns = std::numeric_limits<double>::infinity();
  double room_behind_ns = std::numeric_limits<double>::infinity();
  bool begins_run = false;             // behind a long pause, or a step
  std::optional<double> set_after_ns;  // begins behind a step, which was after this time
  double set_until_ns = 0;             // and before this one
  [[nodiscard]] bool is_empty() const { return !below.has_any() && !above_negated.has_any(); }
  [[nodiscard]] bool bounds_both() const { return below.has_any() && above_negated.has_any(); }
  // Between the first collective and the last next to which a step shows.
  [[nodiscard]] double seen_from_ns() const { return has_close ? close_from_ns : until_ns; }
  [[nodiscard]] double seen_until_ns() const { return has_close ? close_until_ns : from_ns; }
  void note_close(double begin_ns, double end_ns, double open_ns);
};

// In a shorter time clocks cannot drift so far that a step would not be seen.
double hiding_pause_ns(const ClockLimits& limits);

// Cuts the time into segments as the collectives come: at steps of one of the clocks, at pauses
// that could hide one, and where it becomes too long for its room.
class ClockSegments {
 public:
  explicit ClockSegments(const ClockLimits& limits);

  // What one collective says, one of them or both. More or less in the order of time.
  void add(const ClockPoint* least, const ClockPoint* most);

  struct Contradiction {
    double by_ns = 0;
    CollectiveKey lower;
    CollectiveKey upper;
  };
  // Nothing goes any more; what was added since was left out.
  [[nodiscard]] const std::optional<Contradiction>& contradiction() const { return contradiction_; }
  [[nodiscard]] const std::optional<Contradiction>& last_step() const { return last_step_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  // Enough came behind the last step to tell that it was one.
  [[nodiscard]] bool is_sure() const;

  [[nodiscard]] std::vector<ClockSegment>& all() { return all_; }
  [[nodiscard]] const std::vector<ClockSegment>& all() const { return all_; }

 private:
  [[nodiscard]] double least_at(double t_ns) const;
  [[nodiscard]] double most_at(double t_ns) const;
  [[nodiscard]] double longest_ns(double room_ns) const;
  bool compare(const ClockPoint* least, const ClockPoint* most);
  void begin_behind_step(double set_after_ns, double set_until_ns);
  [[nodiscard]] double open_ns(const ClockPoint* least, const ClockPoint* most) const;
  void see(const ClockPoint* least, const ClockPoint* most);
  ClockSegment& segment_at(double t_ns);
  [[nodiscard]] bool is_over(const ClockSegment& last, double t_ns) const;
  ClockSegment& begin(double t_ns, bool begins_run);
  ClockSegment& append();

  static constexpr ClockPoint no_least{.y_ns = -std::numeric_limits<double>::infinity()};
  static constexpr ClockPoint no_most{.y_ns = std::numeric_limits<double>::infinity()};

  ClockLimits limits_;
  std::uint64_t since_step_ = 0;
  std::size_t steps_ = 0;
  // The points that bound the difference most closely now, as it may drift away from them.
  ClockPoint least_ = no_least;
  ClockPoint most_ = no_most;
  double least_from_ns_ = 0;  // when their collectives began
  double most_from_ns_ = 0;
  std::vector<ClockSegment> all_;
  double length_scale_ = 1;
  double longest_ns_ = std::numeric_limits<double>::infinity();  // that the last one may be
  double hiding_pause_ns_;
  std::optional<Contradiction> contradiction_;
  std::optional<Contradiction> last_step_;
};

}  // namespace traceagent::tools
