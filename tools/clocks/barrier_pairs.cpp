#include "tools/clocks/barrier_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace traceagent::tools {

namespace {

// Of whole nanoseconds first: a double of today's is up to 128 off.
double apart_ns(std::int64_t from_ns, std::int64_t until_ns) {
  return static_cast<double>(until_ns - from_ns);
}

// Both marks come at most their bound after the same moment, so their difference is at most the
// larger of the bounds off; what merges did to each comes on top.
double bound_of(const BarrierMark& a, const BarrierMark& b) {
  return static_cast<double>(std::max(a.bound_ns, b.bound_ns) + a.moved_ns + b.moved_ns) + 1.0;
}

// Of two without a batch it is only not denied.
bool may_be_one(const BarrierMark& a, const BarrierMark& b) { return a.batch == b.batch; }

struct Pair {
  const BarrierMark* own;
  const BarrierMark* other;
  [[nodiscard]] double bound_ns() const { return bound_of(*own, *other); }
};

// One way to bring the two lists together.
struct Way {
  std::vector<Pair> pairs;
  std::size_t known = 0;  // of them, by their batches

  void add(const Pair& pair) {
    pairs.push_back(pair);
    known += !pair.own->batch.empty() ? 1 : 0;
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> rank() const { return {known, pairs.size()}; }
  [[nodiscard]] bool has(const BarrierMark* own, const BarrierMark* other) const {
    const auto pair =
        std::lower_bound(pairs.begin(), pairs.end(), own,
                         [](const Pair& each, const BarrierMark* mark) { return each.own < mark; });
    return pair != pairs.end() && pair->own == own && pair->other == other;
  }
};

class Pairing {
 public:
  Pairing(const std::vector<BarrierMark>& own, const std::vector<BarrierMark>& other,
          const ClockLimits& limits, std::uint64_t& work_left)
      : own_(own), other_(other), limits_(limits), work_left_(work_left) {}

  // Nothing: none is better than all others, or sure.
  [[nodiscard]] std::optional<Way> best() {
    try_known();
    if (!best_) try_unknown();
    return best_ && !is_tied_ && has_time_ && is_sure(*best_) ? best_ : std::nullopt;
  }

 private:
  void try_known() {
    std::map<std::string_view, std::vector<std::size_t>> others_by_batch;
    for (std::size_t j = 0; j < other_.size(); ++j) others_by_batch[other_[j].batch].push_back(j);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (own_[i].batch.empty()) continue;
      for (const std::size_t j : others_by_batch[own_[i].batch]) try_from(i, j);
    }
  }

  // Only as many on both sides, and all of them, are ever sure: so the first meets the first.
  void try_unknown() {
    const bool are_any = !own_.empty() && own_.size() == other_.size();
    if (are_any && may_be_one(own_.front(), other_.front())) try_from(0, 0);
  }

  [[nodiscard]] bool is_sure(const Way& way) const {
    const bool are_all = way.pairs.size() == own_.size() && way.pairs.size() == other_.size();
    return way.known > 0 || are_all;
  }

  // These two are one, and what follows from that before and behind them.
  [[nodiscard]] Way way_from(std::size_t i, std::size_t j) {
    Way before = walk(i, j, -1);
    const Way behind = walk(i, j, 1);
    Way way;
    for (auto pair = before.pairs.rbegin(); pair != before.pairs.rend(); ++pair) way.add(*pair);
    for (auto pair = behind.pairs.begin() + 1; pair != behind.pairs.end(); ++pair) way.add(*pair);
    return way;
  }

  [[nodiscard]] Way walk(std::size_t begin_own, std::size_t begin_other, std::ptrdiff_t step) {
    Way way;
    way.add({&own_[begin_own], &other_[begin_other]});
    const bool has_batch = way.known > 0;
    auto i = static_cast<std::ptrdiff_t>(begin_own) + step;
    auto j = static_cast<std::ptrdiff_t>(begin_other) + step;
    const auto is_within = [](std::ptrdiff_t at, const std::vector<BarrierMark>& marks) {
      return at >= 0 && at < static_cast<std::ptrdiff_t>(marks.size());
    };
    while (is_within(i, own_) && is_within(j, other_)) {
      const BarrierMark& own = own_[static_cast<std::size_t>(i)];
      const BarrierMark& other = other_[static_cast<std::size_t>(j)];
      const Pair& last = way.pairs.back();
      const double own_ns = std::abs(apart_ns(last.own->at_ns, own.at_ns));
      const double late_ns = std::abs(apart_ns(last.other->at_ns, other.at_ns)) - own_ns;
      const double slack_ns = last.bound_ns() + bound_of(own, other) + limits_.drift * own_ns;
      // What says no batch may lie alike by chance.
      const bool may_be = may_be_one(own, other) && has_batch != own.batch.empty();
      if (std::abs(late_ns) <= slack_ns && may_be) {
        way.add({&own, &other});
        i += step;
        j += step;
      } else {
        (late_ns > 0 ? i : j) += step;
      }
      work_left_ -= work_left_ > 0 ? 1 : 0;
    }
    return way;
  }

  // The best so far, and whether another is as good.
  void try_from(std::size_t i, std::size_t j) {
    has_time_ = has_time_ && work_left_ > 0;
    if (!has_time_ || (best_ && best_->has(&own_[i], &other_[j]))) return;
    Way way = way_from(i, j);
    if (best_ && way.rank() < best_->rank()) return;
    is_tied_ = best_ && way.rank() == best_->rank();
    if (!is_tied_) best_ = std::move(way);
  }

  const std::vector<BarrierMark>& own_;
  const std::vector<BarrierMark>& other_;
  const ClockLimits& limits_;
  std::optional<Way> best_;
  bool is_tied_ = false;
  bool has_time_ = true;
  std::uint64_t& work_left_;
};

}  // namespace

std::vector<BarrierMark> joined_marks(std::vector<BarrierMark> marks) {
  std::stable_sort(marks.begin(), marks.end(),
                   [](const BarrierMark& a, const BarrierMark& b) { return a.at_ns < b.at_ns; });
  std::vector<BarrierMark> joined;
  for (BarrierMark& mark : marks) {
    if (joined.empty() ||
        apart_ns(joined.back().at_ns, mark.at_ns) > bound_of(joined.back(), mark) ||
        !may_be_one(joined.back(), mark)) {
      joined.push_back(std::move(mark));
      continue;
    }
    BarrierMark& same = joined.back();
    if (mark.rank < same.rank) same = std::move(mark);
  }
  return joined;
}

std::vector<ClockDifference::Knot> barrier_knots(const std::vector<BarrierMark>& own,
                                                 const std::vector<BarrierMark>& other,
                                                 const ClockLimits& limits,
                                                 std::uint64_t& work_left) {
  const std::optional<Way> way = Pairing(own, other, limits, work_left).best();
  std::vector<ClockDifference::Knot> knots;
  if (!way) return knots;
  for (const Pair& pair : way->pairs) {
    // Two so close say nothing of the drift, and what both are off would turn the order of times
    // around.
    constexpr double least_bounds_apart = 100;
    const double after_ns = knots.empty() ? 0.0 : apart_ns(knots.back().at_ns, pair.own->at_ns);
    if (!knots.empty() &&
        after_ns < least_bounds_apart * std::max(knots.back().bound_ns, pair.bound_ns()))
      continue;
    knots.push_back({.at_ns = pair.own->at_ns,
                     .offset_ns = static_cast<double>(pair.other->at_ns - pair.own->at_ns),
                     .bound_ns = pair.bound_ns()});
  }
  return knots;
}

}  // namespace traceagent::tools
