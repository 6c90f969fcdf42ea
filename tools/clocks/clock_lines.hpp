#pragma once

#include <optional>
#include <vector>

#include "tools/clocks/hull.hpp"

namespace traceagent::tools {

// How clocks behave that nobody sets; of two nodes' clocks against each other.
struct ClockLimits {
  double drift = 200e-6;  // they run apart so fast at most, in ns per ns
  // And that changes so fast at most, in 1/s: 0.3 ppm a minute. The quartz of a computer changes by
  // tenths of a ppm with a degree, NTP steers it by as little at a time.
  double wander_per_second = 0.3e-6 / 60;
};

// How far a difference that wanders may be at most, `dt_ns` from a time, from where it would be had
// it gone on evenly from there: |d''| dt² / 2.
double wandered_ns(const ClockLimits& limits, double dt_ns);

// What the collectives' points around a time allow as the difference d of two clocks then.
//
// Each point is given what d may wander until there. Then a straight line through d at that time,
// |drift| <= the limit, meets them all. For a given drift s its offset lies in [lower(s),
// upper(s)], where lower(s) = max(y - s t) over the corners of the lower points' upper hull,
// upper(s) = min(y - s t) over those of the upper points' lower hull: their difference is concave
// and linear between the slopes of the hulls' edges. So the drifts that are possible are an
// interval, whose ends are found exactly, and d's range is reached at its ends or at such a slope.
// (The convex hull method of Zhang, Liu and Xia, "Clock synchronization algorithms for network
// measurements", INFOCOM 2002, with collectives in the place of packets in both directions, and
// with the wandering.)
//
// Where no line meets them, clocks have wandered faster than the limits say (NTP slews one): then
// all that is said is what follows from each point alone and the limit of the drift.
class ClockLines {
 public:
  // Relative to the time. `upper` with y negated. Neither may be empty.
  ClockLines(const std::vector<ClockPoint>& lower, const std::vector<ClockPoint>& upper,
             const ClockLimits& limits);

  [[nodiscard]] bool has_any() const { return has_any_; }
  // If it has none: how far the nearest one misses.
  [[nodiscard]] double missing_ns() const { return missing_ns_; }
  [[nodiscard]] const ClockPoint& a_lower() const { return lower_.back(); }
  [[nodiscard]] const ClockPoint& an_upper() const { return upper_.back(); }
  // By how much d can have been set at the time at most, if these lines hold before it and others
  // behind it, with one drift: nothing if no drift suits both.
  [[nodiscard]] std::optional<double> hidden_step_ns(const ClockLines& behind,
                                                     const ClockLimits& limits) const;
  // What the difference is at least and at most.
  [[nodiscard]] double least_ns() const { return least_ns_; }
  [[nodiscard]] double most_ns() const { return most_ns_; }

 private:
  [[nodiscard]] double lower(double drift) const;
  [[nodiscard]] double upper(double drift) const;
  [[nodiscard]] std::vector<double> slopes(double limit) const;
  void widen(double drift);
  void tighten(const ClockLimits& limits);

  std::vector<ClockPoint> lower_;  // corners
  std::vector<ClockPoint> upper_;
  double least_drift_ = 0;  // of the lines that there are
  double most_drift_ = 0;
  bool has_any_ = false;
  double missing_ns_ = 0;
  double least_ns_ = 0;
  double most_ns_ = 0;
};

}  // namespace traceagent::tools
