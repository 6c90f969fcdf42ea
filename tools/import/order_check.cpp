#include "tools/import/order_check.hpp"

#include <algorithm>

namespace traceagent::tools {

// Its place is before the first of the peaks that are later. They rise: the place can be bisected.
void OrderCheck::look_back(std::int64_t ns) {
  const std::uint64_t oldest = peaks_ - std::min<std::uint64_t>(peaks_, latest_.size());
  std::uint64_t first = oldest;
  for (std::uint64_t behind = peaks_ - 1; first < behind;) {
    const std::uint64_t middle = first + (behind - first) / 2;
    if (latest_[middle % latest_.size()].ns > ns) {
      behind = middle;
    } else {
      first = middle + 1;
    }
  }
  const auto late = static_cast<std::size_t>(bytes_ - latest_[first % latest_.size()].offset);
  const bool is_known = first > oldest || oldest == 0;
  late_bytes_ = std::max(late_bytes_, late);
  is_fine_ = is_fine_ && is_known && late <= most_late_bytes;
}

}  // namespace traceagent::tools
