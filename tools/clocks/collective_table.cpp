#include "tools/clocks/collective_table.hpp"

#include <algorithm>

namespace traceagent::tools {

std::size_t CollectiveTable::line_of(const CollectiveKey& key) {
  if (expected_ >= keys_.size() || !(keys_[expected_] == key)) {
    const auto [found, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (is_new) {
      keys_.push_back(key);
      centres_.emplace_back();
      now_.emplace_back();
    }
    expected_ = found->second;
  }
  return expected_++;
}

void CollectiveTable::add(const CollectiveKey& key, const CollectiveTimes& times) {
  if (sieve_ != 0 && (HashOfKey()(key) & sieve_) != 0) {
    return;
  }
  const std::size_t line = line_of(key);
  CollectiveTimes& now = now_[line];
  if (now.start_ns == CollectiveTimes::no_start && now.end_ns == CollectiveTimes::no_end) {
    touched_.push_back(static_cast<std::uint32_t>(line));
    is_sorted_ = is_sorted_ && times.any_ns() >= last_ns_;
    last_ns_ = times.any_ns();
  }
  now.start_ns = std::max(now.start_ns, times.start_ns);
  now.end_ns = std::min(now.end_ns, times.end_ns);
  if (keys_.size() > most_) {
    let_go_of_half();
  }
}

// Of ranks in files of their own, communicators that not all are in come one after the other.
void CollectiveTable::sort_touched() {
  if (!is_sorted_) {
    std::sort(touched_.begin(), touched_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return now_[a].any_ns() < now_[b].any_ns();
    });
  }
  is_sorted_ = true;
  last_ns_ = std::numeric_limits<std::int64_t>::min();
}

void CollectiveTable::finish_node(std::uint32_t node) {
  sort_touched();
  for (const std::uint32_t line : touched_) {
    compare(line, node);
    now_[line] = {};
  }
  touched_.clear();
}

void CollectiveTable::compare(std::size_t line, std::uint32_t node) {
  Centre& centre = centres_[line];
  const CollectiveTimes& now = now_[line];
  if (now.start_ns > now.end_ns) {
    ++inconsistent_;
  } else if (centre.node == no_node) {
    centre = {.times = now, .node = node};
  } else {
    if (pair_ == nullptr || pair_nodes_ != std::pair(node, centre.node)) {
      pair_nodes_ = {node, centre.node};
      pair_ = &pairs_.try_emplace(pair_nodes_, limits_).first->second;
    }
    pair_->add(keys_[line], now, centre.times);
  }
}

CollectiveTable::Solved CollectiveTable::solve(const std::vector<ClockSpans>& spans,
                                               const AreDoubtful& are_doubtful) {
  Solved solved;
  for (auto& each : pairs_) {
    const auto& who = each.first;
    ClockPair& pair = each.second;
    const ClockSpans& parts = spans[who.first];
    const ClockSpan whole =
        parts.empty() ? ClockSpan() : ClockSpan{parts.front().from_ns, parts.back().until_ns};
    const ClockPair::Answer answer = pair.solve(whole);
    if (answer == ClockPair::Answer::contradictory) {
      Solved refused{.edges = {},
                     .collectives = {},
                     .allow_equal_clocks = {},
                     .is_contradictory = true,
                     .own_node = who.first,
                     .other_node = who.second,
                     .contradiction = pair.contradiction()};
      if (!are_doubtful(who.first, who.second)) {
        return refused;
      }
      refused.edges = std::move(solved.edges);
      refused.collectives = std::move(solved.collectives);
      refused.allow_equal_clocks = std::move(solved.allow_equal_clocks);
      solved = std::move(refused);
    }
    if (answer == ClockPair::Answer::solved) {
      solved.edges.push_back(
          {.from = who.first, .to = who.second, .difference = pair.difference()});
      solved.collectives.push_back(pair.collectives());
      solved.allow_equal_clocks.push_back(pair.allows_equal_clocks());
    }
  }
  return solved;
}

void CollectiveTable::let_go_of_half() {
  sieve_ = sieve_ * 2 + 1;
  index_.clear();
  touched_.clear();
  expected_ = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if ((HashOfKey()(keys_[i]) & sieve_) != 0) {
      continue;
    }
    keys_[kept] = keys_[i];
    centres_[kept] = centres_[i];
    now_[kept] = now_[i];
    const auto line = static_cast<std::uint32_t>(kept++);
    index_.emplace(keys_[line], line);
    if (now_[line].start_ns != CollectiveTimes::no_start ||
        now_[line].end_ns != CollectiveTimes::no_end) {
      touched_.push_back(line);
    }
  }
  keys_.resize(kept);
  centres_.resize(kept);
  now_.resize(kept);
}

}  // namespace traceagent::tools
