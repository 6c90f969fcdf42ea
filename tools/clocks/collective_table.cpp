#include "tools/clocks/collective_table.hpp"

#include <algorithm>

namespace traceagent::tools {

namespace {

bool has_start(const CollectiveTimes& times) { return times.start_ns != CollectiveTimes::no_start; }

bool has_end(const CollectiveTimes& times) { return times.end_ns != CollectiveTimes::no_end; }

bool is_one_sided(const CollectiveTimes& times) { return has_start(times) != has_end(times); }

bool tell_of_each_other(const CollectiveTimes& a, const CollectiveTimes& b) {
  return (has_start(a) && has_end(b)) || (has_end(a) && has_start(b));
}

}  // namespace

inline std::size_t CollectiveTable::line_of(const CollectiveKey& key) {
  if (expected_ >= keys_.size() || !(keys_[expected_] == key)) expected_ = find_line(key);
  return expected_++;
}

// Apart, so that all that the usual line costs is the comparison.
[[gnu::noinline]] std::size_t CollectiveTable::find_line(const CollectiveKey& key) {
  const auto [found, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(keys_.size()));
  if (is_new) {
    keys_.push_back(key);
    centres_.emplace_back();
    now_.emplace_back();
  }
  return found->second;
}

void CollectiveTable::add(const CollectiveKey& key, const CollectiveTimes& times) {
  if (sieve_ != 0 && (HashOfCollective()(key) & sieve_) != 0) {
    return;
  }
  const std::size_t line = line_of(key);
  CollectiveTimes& now = now_[line];
  if (!has_start(now) && !has_end(now)) {
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
  const Centre own{.times = now_[line], .node = node};
  if (own.times.start_ns > own.times.end_ns) {
    ++inconsistent_;
  } else if (centre.node == no_node) {
    centre = own;
  } else if (is_one_sided(centre.times)) {
    compare_rooted(line, own);
  } else {
    add_pair(line, own, centre);
  }
}

void CollectiveTable::compare_rooted(std::size_t line, const Centre& own) {
  Rooted& rooted = rooted_[static_cast<std::uint32_t>(line)];
  if (tell_of_each_other(own.times, centres_[line].times)) {
    add_pair(line, own, centres_[line]);
    if (rooted.partner.node != no_node) return;
    rooted.partner = own;
    for (const Centre& each : rooted.waiting) add_pair(line, own, each);
    waiting_ -= rooted.waiting.size();
    rooted.waiting = {};
  } else if (rooted.partner.node != no_node) {
    add_pair(line, own, rooted.partner);
  } else if (waiting_ < most_waiting) {
    rooted.waiting.push_back(own);
    ++waiting_;
  }
}

void CollectiveTable::add_pair(std::size_t line, const Centre& own, const Centre& other) {
  if (pair_ == nullptr || pair_nodes_ != std::pair(own.node, other.node)) {
    pair_nodes_ = {own.node, other.node};
    pair_ = &pairs_.try_emplace(pair_nodes_, limits_).first->second;
  }
  pair_->add(keys_[line], own.times, other.times);
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
      solved.is_contradictory = true;
      solved.contradictory.push_back(who);
      solved.own_node = who.first;
      solved.other_node = who.second;
      solved.contradiction = pair.contradiction();
      if (!are_doubtful(who.first, who.second)) {
        solved.edges.clear();
        solved.collectives.clear();
        solved.allow_equal_clocks.clear();
        return solved;
      }
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
  std::unordered_map<std::uint32_t, Rooted> rooted;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if ((HashOfCollective()(keys_[i]) & sieve_) != 0) {
      continue;
    }
    keys_[kept] = keys_[i];
    centres_[kept] = centres_[i];
    now_[kept] = now_[i];
    const auto line = static_cast<std::uint32_t>(kept++);
    index_.emplace(keys_[line], line);
    const auto old = rooted_.find(static_cast<std::uint32_t>(i));
    if (old != rooted_.end()) rooted.emplace(line, std::move(old->second));
    if (has_start(now_[line]) || has_end(now_[line])) {
      touched_.push_back(line);
    }
  }
  rooted_ = std::move(rooted);
  waiting_ = 0;
  for (const auto& [line, each] : rooted_) waiting_ += each.waiting.size();
  keys_.resize(kept);
  centres_.resize(kept);
  now_.resize(kept);
}

}  // namespace traceagent::tools
