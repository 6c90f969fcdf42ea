#include "tools/clocks/clock_pair.hpp"

#include <algorithm>
#include <cmath>

namespace traceagent::tools {

namespace {

std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// The corner of an upper hull at which y - s t is largest.
const ClockPoint& outermost(const std::vector<ClockPoint>& corners, double slope) {
  // The edges' slopes fall: those before the corner are steeper than s.
  std::size_t first = 0;
  std::size_t last = corners.size() - 1;
  while (first < last) {
    const std::size_t middle = (first + last) / 2;
    const ClockPoint& a = corners[middle];
    const ClockPoint& b = corners[middle + 1];
    if (b.y_ns - a.y_ns > slope * (b.t_ns - a.t_ns)) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return corners[first];
}

void add_slopes(const std::vector<ClockPoint>& corners, double sign, double limit,
                std::vector<double>& slopes) {
  for (std::size_t i = 1; i < corners.size(); ++i) {
    const double slope =
        sign * (corners[i].y_ns - corners[i - 1].y_ns) / (corners[i].t_ns - corners[i - 1].t_ns);
    if (std::abs(slope) < limit) {
      slopes.push_back(slope);
    }
  }
}

// Where the line through (a, at_a) and (b, at_b) is 0.
double root(double a, double at_a, double b, double at_b) {
  return a + (b - a) * at_a / (at_a - at_b);
}

}  // namespace

double ClockPair::relative(std::int64_t t_ns) const {
  return static_cast<double>(difference(t_ns, base_t_ns_));
}

void ClockPair::add(const CollectiveKey& key, const CollectiveTimes& own,
                    const CollectiveTimes& other) {
  const bool says_least =
      other.start_ns != CollectiveTimes::no_start && own.end_ns != CollectiveTimes::no_end;
  const bool says_most =
      own.start_ns != CollectiveTimes::no_start && other.end_ns != CollectiveTimes::no_end;
  if (!says_least && !says_most) {
    return;
  }
  if (!has_base_) {
    has_base_ = true;
    base_t_ns_ = says_least ? own.end_ns : own.start_ns;
    base_y_ns_ = difference(says_least ? other.start_ns : other.end_ns, base_t_ns_);
  }
  ++collectives_;
  const auto y_ns = [this](std::int64_t theirs_ns, std::int64_t own_ns) {
    return static_cast<double>(difference(difference(theirs_ns, own_ns), base_y_ns_));
  };
  if (says_least) {
    below_.add({relative(own.end_ns), y_ns(other.start_ns, own.end_ns), key});
  }
  if (says_most) {
    above_negated_.add({relative(own.start_ns), -y_ns(other.end_ns, own.start_ns), key});
  }
}

ClockPair::Line ClockPair::lower(double drift, CollectiveKey* from) const {
  const ClockPoint& corner = outermost(lower_corners_, drift);
  if (from != nullptr) {
    *from = corner.from;
  }
  return {drift, corner.y_ns - drift * corner.t_ns};
}

ClockPair::Line ClockPair::upper(double drift, CollectiveKey* from) const {
  const ClockPoint& corner = outermost(upper_corners_, -drift);
  if (from != nullptr) {
    *from = corner.from;
  }
  return {drift, -corner.y_ns - drift * corner.t_ns};
}

double ClockPair::room(double drift) const {
  return upper(drift).offset_ns - lower(drift).offset_ns;
}

std::vector<double> ClockPair::slopes(double drift_limit) {
  lower_corners_ = below_.corners();
  upper_corners_ = above_negated_.corners();
  std::vector<double> all{-drift_limit, drift_limit};
  add_slopes(lower_corners_, 1.0, drift_limit, all);
  add_slopes(upper_corners_, -1.0, drift_limit, all);
  std::sort(all.begin(), all.end());
  return all;
}

bool ClockPair::keep_possible(const std::vector<double>& slopes) {
  possible_.clear();
  std::vector<double> rooms;
  for (const double slope : slopes) {
    rooms.push_back(room(slope));
  }
  const auto widest = std::max_element(rooms.begin(), rooms.end());
  const auto best = static_cast<std::size_t>(widest - rooms.begin());
  if (*widest < 0) {
    contradiction_.by_ns = -*widest;
    (void)lower(slopes[best], &contradiction_.lower);
    (void)upper(slopes[best], &contradiction_.upper);
    return false;
  }
  std::size_t first = best;
  std::size_t last = best;
  while (first > 0 && rooms[first - 1] >= 0) {
    --first;
  }
  while (last + 1 < rooms.size() && rooms[last + 1] >= 0) {
    ++last;
  }
  if (first > 0) {
    possible_.push_back(root(slopes[first - 1], rooms[first - 1], slopes[first], rooms[first]));
  }
  possible_.insert(possible_.end(), slopes.begin() + static_cast<std::ptrdiff_t>(first),
                   slopes.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  if (last + 1 < rooms.size()) {
    possible_.push_back(root(slopes[last], rooms[last], slopes[last + 1], rooms[last + 1]));
  }
  return true;
}

ClockPair::Line ClockPair::lowest(double t_ns) const {
  Line best = lower(possible_.front());
  for (const double drift : possible_) {
    const Line line = lower(drift);
    best = line.at(t_ns) < best.at(t_ns) ? line : best;
  }
  return best;
}

ClockPair::Line ClockPair::highest(double t_ns) const {
  Line best = upper(possible_.front());
  for (const double drift : possible_) {
    const Line line = upper(drift);
    best = line.at(t_ns) > best.at(t_ns) ? line : best;
  }
  return best;
}

ClockPair::Answer ClockPair::solve(double drift_limit, std::int64_t from_ns,
                                   std::int64_t until_ns) {
  const std::vector<double> all = slopes(drift_limit);
  if (lower_corners_.empty() || upper_corners_.empty()) {
    return Answer::one_sided;
  }
  if (!keep_possible(all)) {
    return Answer::contradictory;
  }
  estimate_ = {0, 0};
  for (const std::int64_t end_ns : {from_ns, until_ns}) {
    for (const Line& line : {lowest(relative(end_ns)), highest(relative(end_ns))}) {
      estimate_.drift += line.drift / 4;
      estimate_.offset_ns += line.offset_ns / 4;
    }
  }
  line_.reference_ns = from_ns;
  line_.offset_ns = base_y_ns_ + std::llround(estimate_.at(relative(from_ns)));
  line_.drift = estimate_.drift;
  return Answer::solved;
}

double ClockPair::bound_ns(std::int64_t t_ns) const {
  const double t = relative(t_ns);
  const double here = estimate_.at(t);
  // The correction is rounded to a nanosecond twice.
  return std::max(highest(t).at(t) - here, here - lowest(t).at(t)) + 1.0;
}

}  // namespace traceagent::tools
