#pragma once

#include <cstddef>
#include <cstdint>
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
class UpperHull {
 public:
  void add(const ClockPoint& point) {
    if (corners_.empty() || point.t_ns >= corners_.back().t_ns) {
      append(point);
    } else {
      add_straggler(point);
    }
  }
  // In the order of time.
  const std::vector<ClockPoint>& corners();
  [[nodiscard]] bool has_any() const { return !corners_.empty(); }
  // Nothing is added for now: gives back the memory that adding needs.
  void settle();

 private:
  void append(const ClockPoint& point);
  void add_straggler(const ClockPoint& point);
  void fold_in_stragglers();

  std::vector<ClockPoint> corners_;
  std::vector<ClockPoint> stragglers_;
};

}  // namespace traceagent::tools
