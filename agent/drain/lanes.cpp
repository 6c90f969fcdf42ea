#include "agent/drain/lanes.hpp"

namespace traceagent::drain {

std::size_t NestingLanes::place(std::int64_t begin_ns, std::int64_t end_ns) {
  for (std::size_t lane = 0;; ++lane) {
    if (lane == lanes_.size()) lanes_.emplace_back();
    std::vector<std::int64_t>& open_ends = lanes_[lane];
    while (!open_ends.empty() && open_ends.back() <= begin_ns) open_ends.pop_back();
    if (open_ends.empty() || end_ns <= open_ends.back()) {
      open_ends.push_back(end_ns);
      return lane;
    }
  }
}

}  // namespace traceagent::drain
