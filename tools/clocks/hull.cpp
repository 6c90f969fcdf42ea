#include "tools/clocks/hull.hpp"

#include <algorithm>
#include <utility>

namespace traceagent::tools {

namespace {

constexpr std::size_t most_stragglers = 256;

}  // namespace

void UpperHull::add_straggler(const ClockPoint& point) {
  stragglers_.push_back(point);
  // As many as there are corners: sorting these again is paid by them.
  if (stragglers_.size() >= std::max(most_stragglers, corners_.size())) {
    fold_in_stragglers();
  }
}

void UpperHull::fold_in_stragglers() {
  std::vector<ClockPoint> all = std::exchange(corners_, {});
  all.insert(all.end(), stragglers_.begin(), stragglers_.end());
  stragglers_.clear();
  std::sort(all.begin(), all.end(),
            [](const ClockPoint& a, const ClockPoint& b) { return a.t_ns < b.t_ns; });
  for (const ClockPoint& point : all) {
    if (corners_.empty() || !falls_behind(point)) append(point);
  }
}

// In the order of time, and none that falls behind.
void UpperHull::append(const ClockPoint& point) {
  if (!corners_.empty() && corners_.back().t_ns == point.t_ns) {
    if (corners_.back().y_ns >= point.y_ns) return;
    corners_.pop_back();
  }
  while (corners_.size() >= 2 &&
         is_no_corner(corners_[corners_.size() - 2], corners_.back(), point)) {
    corners_.pop_back();
  }
  corners_.push_back(point);
}

const std::vector<ClockPoint>& UpperHull::corners() {
  if (!stragglers_.empty()) {
    fold_in_stragglers();
  }
  return corners_;
}

void UpperHull::settle() {
  corners();
  corners_.shrink_to_fit();
  stragglers_.shrink_to_fit();
}

}  // namespace traceagent::tools
