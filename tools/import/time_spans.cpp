#include "tools/import/time_spans.hpp"

#include <algorithm>

namespace traceagent::tools {

// Into the span that it touches, which may join it with the next; or as one of its own.
void TimeSpans::add_elsewhere(std::int64_t ns) {
  if (is_full_) return;
  const std::size_t spans = bounds_ns_.size() / 2;
  std::size_t at = spans;  // the first that does not end long before
  while (at > 0 && ns - bounds_ns_[2 * at - 1] <= pause_ns) --at;
  const auto begin = bounds_ns_.begin() + static_cast<std::ptrdiff_t>(2 * at);
  if (at == spans || begin[0] - ns > pause_ns) {
    bounds_ns_.insert(begin, {ns, ns});
    is_full_ = spans == most_spans;
    if (is_full_) bounds_ns_.clear();
    return;
  }
  begin[0] = std::min(begin[0], ns);
  begin[1] = std::max(begin[1], ns);
  if (at + 1 < spans && begin[2] - begin[1] <= pause_ns) bounds_ns_.erase(begin + 1, begin + 3);
}

}  // namespace traceagent::tools
