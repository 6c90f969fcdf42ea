#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "tools/clocks/hull.hpp"

namespace traceagent::tools {

// Of one collective on one node: its ranks' latest start and earliest end. One of them may be
// unknown: of a broadcast only the root's start and the others' ends say anything.
struct CollectiveTimes {
  static constexpr std::int64_t no_start = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
  std::int64_t start_ns = no_start;
  std::int64_t end_ns = no_end;
};

// What two nodes' collectives allow as the difference of their clocks.
//
// A synchronising collective ends on no rank before its last rank has started. With d(t) what must
// be added to the one node's ("own") clock at t to have the other's, each collective says
//     start_other <= end_own + d(end_own)      d is not below a point
//     start_own + d(start_own) <= end_other    nor above another
// and d is a line: d(t) = offset + drift t, |drift| <= the limit. Of the points only the hulls'
// corners matter: the upper hull of those below, the lower hull of those above. (The convex hull
// method of Zhang, Liu and Xia, "Clock synchronization algorithms for network measurements",
// INFOCOM 2002, with collectives in the place of packets in both directions.)
//
// For a given drift s the offset lies in [lower(s), upper(s)], where lower(s) = max(y - s t) over
// the lower corners, upper(s) = min(y - s t) over the upper ones: their difference is concave and
// linear between the slopes of the hulls' edges. So the drifts that are possible are an interval,
// whose ends are found exactly, and d's range at any t is reached at its ends or at such a slope.
class ClockPair {
 public:
  void add(const CollectiveKey& key, const CollectiveTimes& own, const CollectiveTimes& other);
  [[nodiscard]] std::uint64_t collectives() const { return collectives_; }

  enum class Answer { solved, one_sided, contradictory };
  // One-sided: what is known bounds the difference from below or from above only. Contradictory: no
  // line meets all; see contradiction().
  Answer solve(double drift_limit, std::int64_t from_ns, std::int64_t until_ns);

  struct Contradiction {
    double by_ns = 0;  // what would have to be given up at the best of all lines
    CollectiveKey lower;
    CollectiveKey upper;
  };
  [[nodiscard]] const Contradiction& contradiction() const { return contradiction_; }

  // Meets all constraints: the mean of the four lines that are highest and lowest at both ends of
  // the time that solve() was given.
  [[nodiscard]] const trace::ClockCorrection& line() const { return line_; }
  // How far from the line any line can be at t that meets all constraints. Convex in t: over a time
  // it is largest at one of its ends.
  [[nodiscard]] double bound_ns(std::int64_t t_ns) const;

 private:
  struct Line {
    double drift;
    double offset_ns;  // at t = 0 of the relative times
    [[nodiscard]] double at(double t_ns) const { return offset_ns + drift * t_ns; }
  };
  std::vector<double> slopes(double drift_limit);
  [[nodiscard]] Line lower(double drift, CollectiveKey* from = nullptr) const;
  [[nodiscard]] Line upper(double drift, CollectiveKey* from = nullptr) const;
  [[nodiscard]] double room(double drift) const;
  bool keep_possible(const std::vector<double>& slopes);
  [[nodiscard]] Line lowest(double t_ns) const;
  [[nodiscard]] Line highest(double t_ns) const;
  [[nodiscard]] double relative(std::int64_t t_ns) const;

  // Relative to these, doubles are exact enough: a day of nanoseconds needs 47 of their 53 bits.
  std::int64_t base_t_ns_ = 0;
  std::int64_t base_y_ns_ = 0;
  bool has_base_ = false;
  std::uint64_t collectives_ = 0;
  UpperHull below_;
  UpperHull above_negated_;
  std::vector<ClockPoint> lower_corners_;
  std::vector<ClockPoint> upper_corners_;  // negated
  std::vector<double> possible_;  // drifts: the ends of the interval, and the slopes within
  Line estimate_{};
  trace::ClockCorrection line_;
  Contradiction contradiction_;
};

}  // namespace traceagent::tools
