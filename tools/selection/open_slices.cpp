#include "tools/selection/open_slices.hpp"

#include <iterator>

namespace traceagent::tools {

void OpenSlices::pop_ended(std::vector<Slice>& slices, std::int64_t ns) {
  while (!slices.empty() && slices.back().end_ns < ns) {
    slices.pop_back();
  }
}

void OpenSlices::push(std::vector<Slice>& slices, const Slice& slice) {
  pop_ended(slices, slice.begin_ns);
  // From now on this one hides those that end no later: so overlapping slices do not pile up.
  while (slice.index == no_index && !slices.empty() && slices.back().end_ns <= slice.end_ns) {
    slices.pop_back();
  }
  slices.push_back(slice);
}

bool OpenSlices::close(const Lane& lane, Slice& slice) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) {
    return false;
  }
  std::vector<Slice>& slices = found->second;
  for (auto at = slices.rbegin(); at != slices.rend(); ++at) {
    if (at->index != no_index) {
      slice = *at;
      slices.erase(std::next(at).base());
      return true;
    }
  }
  return false;
}

const OpenSlices::Slice* OpenSlices::around(const Lane& lane, std::int64_t ns) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) {
    return nullptr;
  }
  pop_ended(found->second, ns);
  return found->second.empty() ? nullptr : &found->second.back();
}

}  // namespace traceagent::tools
