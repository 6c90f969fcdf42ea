#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "agent/event/hash.hpp"
#include "tests/unit/tools/random_clocks.hpp"

namespace traceagent::tools {

// What the files of a random job's nodes tell of its collectives, drawn by the same seed: all of
// it, or some starts and ends are unknown, or some collectives say one side only; in the order of
// time or in another; of one communicator or of three; by one rank on a node or by two; and to a
// table that holds all of them or 150.
class RandomRecords {
 public:
  RandomRecords(const RandomJob& job, std::uint64_t seed)
      : seed_(seed), table_({}, seed % 11 == 5 ? 150 : CollectiveTable::usual_most) {
    std::mt19937_64 random(seed * 77 + 5);
    unknown_ = static_cast<Unknown>(random() % 5);
    const std::vector<Told> told[] = {all_of(job, 0), all_of(job, 1)};
    add(0, told[0]);
    add(1, told[1]);
    find_two_sided(job, told);
  }

  [[nodiscard]] CollectiveTable::Solved solved(const RandomJob& job) {
    return table_.solve(job.spans());
  }

  // Two sets between two collectives that bound the clock on both sides, and none such between
  // them. (Before the first of these, and behind the last, any number of sets is unsure.)
  [[nodiscard]] bool has_sets_together(const RandomJob& job) const {
    std::vector<std::size_t> gaps;
    for (const RandomClock& clock : job.clocks) {
      for (const auto& each : clock.sets) {
        gaps.push_back(static_cast<std::size_t>(
            std::lower_bound(two_sided_.begin(), two_sided_.end(), each.first) -
            two_sided_.begin()));
      }
    }
    std::erase_if(gaps, [this](std::size_t gap) { return gap == 0 || gap == two_sided_.size(); });
    std::sort(gaps.begin(), gaps.end());
    return std::adjacent_find(gaps.begin(), gaps.end()) != gaps.end();
  }

 private:
  enum class Unknown { nothing, some_starts, some_ends, one_side, some_of_both };
  using Told = std::pair<CollectiveKey, CollectiveTimes>;

  [[nodiscard]] std::vector<Told> all_of(const RandomJob& job, std::uint32_t node) const {
    std::mt19937_64 random(seed_ * 7 + 1);  // the same on both nodes
    std::vector<Told> all;
    for (std::size_t i = 0; i < job.collectives.size(); ++i) {
      const RandomJob::Collective& each = job.collectives[i];
      CollectiveTimes times{.start_ns = job.clocks[node].at(each.starts_ns[node]),
                            .end_ns = job.clocks[node].at(each.ends_ns[node])};
      forget(random() % 4, node, times);
      const std::uint64_t communicator = 7 + (seed_ % 2 == 1 ? random() % 3 : 0);
      all.push_back({{communicator, i}, times});
    }
    return all;
  }

  void forget(std::uint64_t draw, std::uint32_t node, CollectiveTimes& times) const {
    const bool starts = unknown_ == Unknown::some_starts || unknown_ == Unknown::some_of_both;
    const bool ends = unknown_ == Unknown::some_ends || unknown_ == Unknown::some_of_both;
    const bool half = unknown_ == Unknown::one_side && draw == 2;
    if ((starts && draw == 0) || (half && node == 1)) {
      times.start_ns = CollectiveTimes::no_start;
    }
    if ((ends && draw == 1) || (half && node == 0)) {
      times.end_ns = CollectiveTimes::no_end;
    }
  }

  static bool tells_both(const CollectiveTimes& times) {
    return times.start_ns != CollectiveTimes::no_start && times.end_ns != CollectiveTimes::no_end;
  }

  void find_two_sided(const RandomJob& job, const std::vector<Told> (&told)[2]) {
    for (std::size_t i = 0; i < job.collectives.size(); ++i) {
      const CollectiveKey& key = told[0][i].first;
      const bool is_kept =
          (event::combine(key.communicator, key.sequence) & (table_.one_of() - 1)) == 0;
      if (is_kept && tells_both(told[0][i].second) && tells_both(told[1][i].second)) {
        const RandomJob::Collective& each = job.collectives[i];
        two_sided_.push_back(std::min(each.starts_ns[0], each.starts_ns[1]));
      }
    }
  }

  void add(std::uint32_t node, std::vector<Told> told) {
    for (std::size_t i = 0; seed_ % 5 == 0 && i + 1 < told.size(); i += 3) {
      std::swap(told[i], told[i + 1]);
    }
    if (seed_ % 7 == 0) {
      std::stable_sort(told.begin(), told.end(), [](const Told& a, const Told& b) {
        return a.first.communicator < b.first.communicator;
      });
    }
    for (const auto& [key, times] : told) {
      table_.add(key, times);
    }
    for (std::size_t i = 0; seed_ % 13 == 0 && i < told.size(); ++i) {
      auto [key, times] = told[i];
      times.start_ns -= times.start_ns == CollectiveTimes::no_start ? 0 : 100;
      table_.add(key, times);
    }
    table_.finish_node(node);
  }

  std::uint64_t seed_;
  CollectiveTable table_;
  Unknown unknown_ = Unknown::nothing;
  std::vector<double> two_sided_;  // when those began that say both sides
};

}  // namespace traceagent::tools
