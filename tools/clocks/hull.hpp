#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace traceagent::tools {

// A collective operation, equal on all ranks that take part in it.
struct CollectiveKey {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  friend bool operator==(const CollectiveKey&, const CollectiveKey&) = default;
};

// "At t the difference is at least (or at most) y", both relative to what the owner chose.
struct ClockPoint {
  double t_ns = 0;
  double y_ns = 0;
  CollectiveKey from = {};
};

// The corners of the convex hull's upper side, of points that come more or less in the order of
// time: those in order cost a few comparisons each, stragglers wait until they are many enough to
// be sorted. Nothing else of the points is kept. For the lower side, add them with y negated.
//
// What falls behind a corner more steeply than `steepest` (ns per ns) is left out: where no
// difference changes so fast, that corner says more of it at any time.
class UpperHull {
 public:
  explicit UpperHull(double steepest = std::numeric_limits<double>::infinity())
      : steepest_(steepest) {}
  void add(const ClockPoint& point) {
    if (!corners_.empty() && point.t_ns < corners_.back().t_ns) {
      add_straggler(point);
    } else if (corners_.empty() || !falls_behind(point)) {
      append(point);
    }
  }
  // In the order of time.
  const std::vector<ClockPoint>& corners();
  [[nodiscard]] bool has_any() const { return !corners_.empty(); }
  // Nothing is added for now: gives back the memory that adding needs.
  void settle();

 private:
  // Whether b lies on the line from a to c or below it.
  static bool is_no_corner(const ClockPoint& a, const ClockPoint& b, const ClockPoint& c) {
    return (b.y_ns - a.y_ns) * (c.t_ns - a.t_ns) <= (c.y_ns - a.y_ns) * (b.t_ns - a.t_ns);
  }
  [[nodiscard]] bool falls_behind(const ClockPoint& point) const {
    const ClockPoint& last = corners_.back();
    return point.y_ns < last.y_ns - steepest_ * (point.t_ns - last.t_ns);
  }
  void append(const ClockPoint& point);
  void add_straggler(const ClockPoint& point);
  void fold_in_stragglers();

  double steepest_;
  std::vector<ClockPoint> corners_;
  std::vector<ClockPoint> stragglers_;
};

}  // namespace traceagent::tools
