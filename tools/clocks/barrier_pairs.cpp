#include "tools/clocks/barrier_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace traceagent::tools {

namespace {

double apart_ns(std::int64_t from_ns, std::int64_t until_ns) {
  return static_cast<double>(until_ns) - static_cast<double>(from_ns);
}

// Both marks come at most their bound after the same moment, so their difference is at most the
// larger of the bounds off.
double bound_of(const BarrierMark& a, const BarrierMark& b) {
  return static_cast<double>(std::max(a.bound_ns, b.bound_ns)) + 1.0;
}

bool may_be_one(const BarrierMark& a, const BarrierMark& b) {
  return a.batch.empty() || b.batch.empty() || a.batch == b.batch;
}

bool is_known_one(const BarrierMark& a, const BarrierMark& b) {
  return !a.batch.empty() && a.batch == b.batch;
}

struct Pair {
  const BarrierMark* own;
  const BarrierMark* other;
  [[nodiscard]] double offset_ns() const { return apart_ns(own->at_ns, other->at_ns); }
  [[nodiscard]] double bound_ns() const { return bound_of(*own, *other); }
};

// One way to bring the two lists together.
struct Way {
  std::vector<Pair> pairs;
  std::size_t known = 0;  // of them, by their batches

  void add(const Pair& pair) {
    pairs.push_back(pair);
    known += is_known_one(*pair.own, *pair.other) ? 1 : 0;
  }
  [[nodiscard]] double offset_ns() const { return std::abs(pairs.front().offset_ns()); }
  [[nodiscard]] std::pair<std::size_t, std::size_t> rank() const { return {known, pairs.size()}; }
  [[nodiscard]] bool is_same(const Way& way) const {
    return std::any_of(pairs.begin(), pairs.end(), [&way](const Pair& pair) {
      return std::any_of(way.pairs.begin(), way.pairs.end(), [&pair](const Pair& each) {
        return each.own == pair.own && each.other == pair.other;
      });
    });
  }
};

class Pairing {
 public:
  Pairing(const std::vector<BarrierMark>& own, const std::vector<BarrierMark>& other,
          const ClockLimits& limits)
      : own_(own), other_(other), limits_(limits) {}

  [[nodiscard]] std::optional<Way> best() {
    // Of a long job's marks the first will do: one of them has its fellow.
    constexpr std::size_t most_begins = 16;
    for (std::size_t i = 0; i < std::min(own_.size(), most_begins); ++i) {
      for (std::size_t j = 0; j < other_.size(); ++j) {
        if (may_be_one(own_[i], other_[j])) take(way_from(i, j));
      }
    }
    const bool is_clear = !next_ || 4 * best_->offset_ns() <= next_->offset_ns();
    return is_clear ? best_ : std::nullopt;
  }

 private:
  // These two are one, and what follows from that.
  [[nodiscard]] Way way_from(std::size_t i, std::size_t j) const {
    Way way;
    way.add({&own_[i], &other_[j]});
    for (++i, ++j; i < own_.size() && j < other_.size();) {
      const Pair& last = way.pairs.back();
      const double own_ns = apart_ns(last.own->at_ns, own_[i].at_ns);
      const double late_ns = apart_ns(last.other->at_ns, other_[j].at_ns) - own_ns;
      const double slack_ns =
          last.bound_ns() + bound_of(own_[i], other_[j]) + limits_.drift * own_ns;
      if (std::abs(late_ns) <= slack_ns && may_be_one(own_[i], other_[j])) {
        way.add({&own_[i++], &other_[j++]});
      } else {
        ++(late_ns > 0 ? i : j);
      }
    }
    return way;
  }

  // The best, and of those that are as good but say another thing the one that is nearest in time.
  void take(Way way) {
    if (!best_ || way.rank() > best_->rank()) {
      best_ = std::move(way);
      next_.reset();
    } else if (way.rank() == best_->rank() && !way.is_same(*best_)) {
      if (way.offset_ns() < best_->offset_ns()) std::swap(way, *best_);
      if (!next_ || way.offset_ns() < next_->offset_ns()) next_ = std::move(way);
    }
  }

  const std::vector<BarrierMark>& own_;
  const std::vector<BarrierMark>& other_;
  const ClockLimits& limits_;
  std::optional<Way> best_;
  std::optional<Way> next_;
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
    if (same.batch.empty()) same.batch = mark.batch;
    if (mark.rank < same.rank) {
      same.rank = mark.rank;
      same.at_ns = mark.at_ns;
      same.bound_ns = mark.bound_ns;
    }
  }
  return joined;
}

std::vector<ClockDifference::Knot> barrier_knots(const std::vector<BarrierMark>& own,
                                                 const std::vector<BarrierMark>& other,
                                                 const ClockLimits& limits) {
  const std::optional<Way> way = Pairing(own, other, limits).best();
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
