#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/selection/event_rules.hpp"

namespace traceagent::tools {

// The slices that are open on each thread of a trace, read in the order of time: of "X", and of
// "B" to its "E". Memory is bounded: of more than `most_of_lane` that are open on a thread at a
// time the outermost are given up.
class OpenSlices {
 public:
  static constexpr std::size_t no_index = SIZE_MAX;
  static constexpr std::size_t most_of_lane = 4096;
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
    std::vector<Slice>& slices = lanes_[lane];
    push(slices, slice);
    if (slices.size() < most_of_lane) return;
    // Half of them, so that it is seldom.
    const auto end = slices.begin() + most_of_lane / 2;
    std::for_each(slices.begin(), end, [&give_up](const Slice& each) {
      if (each.index != no_index) give_up(each);
    });
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
  static void push(std::vector<Slice>& slices, const Slice& slice);
  static void pop_ended(std::vector<Slice>& slices, std::int64_t ns);

  std::unordered_map<Lane, std::vector<Slice>, Hash> lanes_;
};

}  // namespace traceagent::tools
