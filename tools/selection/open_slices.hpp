#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/selection/event_rules.hpp"

namespace traceagent::tools {

// The slices that are open on each thread of a trace, read in the order of time: of "X", and of
// "B" to its "E". Memory is bounded: of more than `most_of_lane` that are open on a thread at a
// time the outermost are given up, and where slices are open on more than half of `most_lanes`
// threads, all are.
class OpenSlices {
 public:
  static constexpr std::size_t no_index = SIZE_MAX;
  static constexpr std::size_t most_of_lane = 4096;
  static constexpr std::size_t most_lanes = std::size_t{1} << 16;
  struct Slice {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;       // the largest number while it is not known
    Verdict verdict{};             // of a "B": that of its category alone
    std::size_t index = no_index;  // of a "B": among the verdicts
  };
  using Lane = std::pair<std::int64_t, std::int64_t>;  // pid, tid

  // `give_up`: told each "B" that is given up.
  template <typename GiveUp>
  void open(const Lane& lane, const Slice& slice, const GiveUp& give_up) {
    if (lanes_.size() >= most_lanes) leave_lanes(slice.begin_ns, give_up);
    std::vector<Slice>& slices = lanes_[lane];
    push(slices, slice);
    if (slices.size() < most_of_lane) return;
    // Half of them, so that it is seldom.
    const auto end = slices.begin() + most_of_lane / 2;
    give_up_of(slices.begin(), end, give_up);
    slices.erase(slices.begin(), end);
  }
  // Takes the innermost "B" off the lane; false: there is none.
  bool close(const Lane& lane, Slice& slice);
  // The innermost slice that holds the time, which is that of the last event read; or null.
  const Slice* around(const Lane& lane, std::int64_t ns);

  template <typename Visit>
  void for_each_unclosed(Visit visit) const {
    for (const auto& [lane, slices] : lanes_) {
      for (const Slice& slice : slices) {
        if (slice.index != no_index) visit(slice);
      }
    }
  }

 private:
  struct Hash {
    std::size_t operator()(const Lane& lane) const {
      return static_cast<std::size_t>(static_cast<std::uint64_t>(lane.first) * 0x9e3779b97f4a7c15U +
                                      static_cast<std::uint64_t>(lane.second));
    }
  };
  template <typename At, typename GiveUp>
  static void give_up_of(At begin, At end, const GiveUp& give_up) {
    std::for_each(begin, end, [&give_up](const Slice& each) {
      if (each.index != no_index) give_up(each);
    });
  }
  // Those of which all slices have ended.
  template <typename GiveUp>
  void leave_lanes(std::int64_t ns, const GiveUp& give_up) {
    for (auto lane = lanes_.begin(); lane != lanes_.end();) {
      pop_ended(lane->second, ns);
      lane = lane->second.empty() ? lanes_.erase(lane) : std::next(lane);
    }
    if (lanes_.size() < most_lanes / 2) return;
    for (const auto& [lane, slices] : lanes_) give_up_of(slices.begin(), slices.end(), give_up);
    lanes_.clear();
  }
  static void push(std::vector<Slice>& slices, const Slice& slice);
  static void pop_ended(std::vector<Slice>& slices, std::int64_t ns);

  std::unordered_map<Lane, std::vector<Slice>, Hash> lanes_;
};

}  // namespace traceagent::tools
