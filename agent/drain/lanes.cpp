#include "agent/drain/lanes.hpp"

namespace traceagent::drain {
namespace {
// No program has that many concurrent ranges; the times of a damaged ring do, and each lane more
// would cost every later event.
constexpr std::size_t most_lanes = 512;
}  // namespace

std::size_t NestingLanes::place(std::int64_t begin_ns, std::int64_t end_ns) {
  for (std::size_t lane = 0;; ++lane) {
    if (lane == lanes_.size()) lanes_.emplace_back();
    if (lane + 1 == most_lanes) return lane;
    std::vector<std::int64_t>& open_ends = lanes_[lane];
    while (!open_ends.empty() && open_ends.back() <= begin_ns) open_ends.pop_back();
    if (open_ends.empty() || end_ns <= open_ends.back()) {
      open_ends.push_back(end_ns);
      return lane;
    }
  }
}

}  // namespace traceagent::drain
