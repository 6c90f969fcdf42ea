#include "tools/clocks/barrier_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
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
  Pairing(const PassedBarriers& own, const PassedBarriers& other, std::size_t runs,
          const ClockLimits& limits, std::uint64_t& work_left)
      : own_batches_(own.of_batch),
        other_batches_(other.of_batch),
        own_(own.marks),
        other_(other.marks),
        runs_(runs),
        limits_(limits),
        work_left_(work_left) {}

  // Nothing: none is better than all others, or sure.
  [[nodiscard]] std::optional<Way> best() {
    try_known();
    if (!best_) try_unknown();
    return best_ && !is_tied_ && work_left_ > 0 && is_sure(*best_) ? best_ : std::nullopt;
  }

 private:
  void try_known() {
    spend(own_batches_.size());
    for (const auto& [batch, at] : own_batches_) {
      const auto others = other_batches_.find(batch);
      if (others == other_batches_.end()) continue;
      for (const std::size_t i : at) {
        for (const std::size_t j : others->second) {
          if (work_left_ == 0) return;
          try_from(i, j);
        }
      }
    }
  }

  // Only as many on both sides, and all of them, are ever sure: so the first meets the first.
  void try_unknown() {
    const bool are_any = !own_.empty() && own_.size() == other_.size();
    if (are_any && may_be_one(own_.front(), other_.front())) try_from(0, 0);
  }

  [[nodiscard]] bool is_sure(const Way& way) const {
    if (way.known == 0) return way.pairs.size() == own_.size() && own_.size() == other_.size();
    return std::any_of(way.pairs.begin(), way.pairs.end(), [this](const Pair& pair) {
      const std::string& batch = pair.own->batch;
      return !batch.empty() &&
             std::max(own_batches_.at(batch).size(), other_batches_.at(batch).size()) >= runs_;
    });
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
      spend(1);
    }
    return way;
  }

  // The best so far, and whether another is as good. From each of its pairs a way is much the same.
  void try_from(std::size_t i, std::size_t j) {
    spend(1);
    if (tried_.contains({&own_[i], &other_[j]})) return;
    Way way = way_from(i, j);
    for (const Pair& pair : way.pairs) tried_.insert({pair.own, pair.other});
    if (best_ && way.rank() < best_->rank()) return;
    is_tied_ = best_ && way.rank() == best_->rank();
    if (!is_tied_) best_ = std::move(way);
  }

  void spend(std::uint64_t steps) { work_left_ -= std::min(work_left_, steps); }

  const std::map<std::string, std::vector<std::size_t>>& own_batches_;
  const std::map<std::string, std::vector<std::size_t>>& other_batches_;
  const std::vector<BarrierMark>& own_;
  const std::vector<BarrierMark>& other_;
  std::size_t runs_;
  const ClockLimits& limits_;
  std::optional<Way> best_;
  std::set<std::pair<const BarrierMark*, const BarrierMark*>> tried_;
  bool is_tied_ = false;
  std::uint64_t& work_left_;
};

// Where the slopes beside a knot differ by more than the limit lets a clock wander, it was steered,
// or set by less than what drifts explain: beside one of these knots, by as much as makes that.
void mark_kinks(std::vector<ClockDifference::Knot>& knots, const ClockLimits& limits) {
  struct Piece {
    double length_ns, slope, slope_bound;
    Piece(const ClockDifference::Knot& from, const ClockDifference::Knot& until)
        : length_ns(apart_ns(from.at_ns, until.at_ns)),
          slope((until.offset_ns - from.offset_ns) / length_ns),
          slope_bound((from.bound_ns + until.bound_ns) / length_ns) {}
  };
  std::vector<double> set_by_ns(knots.size(), 0.0);
  for (std::size_t k = 1; k + 1 < knots.size(); ++k) {
    const Piece before(knots[k - 1], knots[k]);
    const Piece behind(knots[k], knots[k + 1]);
    const double wander =
        limits.wander_per_second * 1e-9 * (before.length_ns + behind.length_ns) / 2;
    double change = std::abs(behind.slope - before.slope);
    const double hidden = wander + before.slope_bound + behind.slope_bound;
    knots[k].is_kinked = change > hidden;
    if (!knots[k].is_kinked) continue;
    change += hidden;
    set_by_ns[k - 1] = std::max(set_by_ns[k - 1], change * before.length_ns);
    set_by_ns[k] = std::max({set_by_ns[k], change * before.length_ns, change * behind.length_ns});
    set_by_ns[k + 1] = std::max(set_by_ns[k + 1], change * behind.length_ns);
  }
  for (std::size_t k = 0; k < knots.size(); ++k) knots[k].bound_ns += set_by_ns[k];
}

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

std::vector<ClockDifference::Knot> knots_of(const Way& way) {
  std::vector<ClockDifference::Knot> knots;
  for (const Pair& pair : way.pairs) {
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

}  // namespace

PassedBarriers::PassedBarriers(std::vector<BarrierMark> all) : marks(joined_marks(std::move(all))) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i].batch.empty()) of_batch[marks[i].batch].push_back(i);
  }
}

std::size_t runs_of(const PassedBarriers& barriers) {
  std::size_t runs = 1;
  for (const auto& [batch, at] : barriers.of_batch) runs = std::max(runs, at.size());
  return runs;
}

std::vector<ClockDifference::Knot> pair_barriers(const PassedBarriers& own,
                                                 const PassedBarriers& other, std::size_t runs,
                                                 const ClockLimits& limits,
                                                 std::uint64_t& work_left) {
  const std::optional<Way> way = Pairing(own, other, runs, limits, work_left).best();
  if (!way) return {};
  std::vector<ClockDifference::Knot> knots = knots_of(*way);
  mark_kinks(knots, limits);
  return knots;
}

}  // namespace traceagent::tools
