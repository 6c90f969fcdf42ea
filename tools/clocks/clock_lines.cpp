#include "tools/clocks/clock_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace traceagent::tools {

namespace {

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

// Each given what the difference may wander until there.
std::vector<ClockPoint> corners_of(const std::vector<ClockPoint>& points,
                                   const ClockLimits& limits) {
  UpperHull hull;
  for (ClockPoint point : points) {
    point.y_ns -= wandered_ns(limits, point.t_ns);
    hull.add(point);
  }
  return hull.corners();
}

// The highest that one of them alone makes it, if the difference falls as fast as it may.
double highest_of(const std::vector<ClockPoint>& points, double drift_limit) {
  const auto height = [drift_limit](const ClockPoint& point) {
    return point.y_ns - drift_limit * std::abs(point.t_ns);
  };
  double highest = height(points.front());
  for (const ClockPoint& point : points) {
    highest = std::max(highest, height(point));
  }
  return highest;
}

// What a straight line from one time through two values of d is off at most, at the time from which
// both are counted: the error of interpolation, |d''| t1 t2 / 2.
double bent_ns(const ClockLimits& limits, double t1_ns, double t2_ns) {
  return limits.wander_per_second * 1e-9 * t1_ns * t2_ns / 2;
}

// The least of what two points on one side of the time make of the difference there at most: one
// that it is not above, and one further away that it is not below. (`below`, `above_negated`:
// corners, as the lines have them.)
double most_beyond(const std::vector<ClockPoint>& below,
                   const std::vector<ClockPoint>& above_negated, const ClockLimits& limits) {
  // Times are whole nanoseconds: of two that lie close together and far from here, their rounding
  // would be carried here so many times over.
  constexpr double most_part = 16;
  // Of more corners some: the bound is as true, and a little wider at most.
  constexpr std::size_t most_corners = 64;
  const std::size_t near_step = above_negated.size() / most_corners + 1;
  const std::size_t far_step = below.size() / most_corners + 1;
  double most_ns = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < above_negated.size(); i += near_step) {
    const ClockPoint& near = above_negated[i];
    const double near_ns = -near.y_ns - wandered_ns(limits, near.t_ns);
    for (std::size_t k = 0; k < below.size(); k += far_step) {
      const ClockPoint& far = below[k];
      const double part = near.t_ns / (far.t_ns - near.t_ns);
      if (part >= 0 && part <= most_part) {
        const double far_ns = far.y_ns + wandered_ns(limits, far.t_ns);
        most_ns = std::min(
            most_ns, near_ns + part * (near_ns - far_ns) + bent_ns(limits, near.t_ns, far.t_ns));
      }
    }
  }
  return most_ns;
}

}  // namespace

double wandered_ns(const ClockLimits& limits, double dt_ns) {
  return limits.wander_per_second * 1e-9 * dt_ns * dt_ns / 2;
}

// At a drift: where the lines through the outermost corners are at the time.
double ClockLines::lower(double drift) const {
  const ClockPoint& corner = outermost(lower_, drift);
  return corner.y_ns - drift * corner.t_ns;
}

double ClockLines::upper(double drift) const {
  const ClockPoint& corner = outermost(upper_, -drift);
  return -corner.y_ns - drift * corner.t_ns;
}

std::vector<double> ClockLines::slopes(double limit) const {
  std::vector<double> all{-limit, limit};
  add_slopes(lower_, 1.0, limit, all);
  add_slopes(upper_, -1.0, limit, all);
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<double> ClockLines::hidden_step_ns(const ClockLines& behind,
                                                 const ClockLimits& limits) const {
  const double least_drift = std::max(least_drift_, behind.least_drift_);
  const double most_drift = std::min(most_drift_, behind.most_drift_);
  if (!has_any_ || !behind.has_any_ || least_drift > most_drift) {
    return std::nullopt;
  }
  std::vector<double> drifts = slopes(limits.drift);
  const std::vector<double> others = behind.slopes(limits.drift);
  drifts.insert(drifts.end(), others.begin(), others.end());
  double most_ns = 0;
  for (const double any : drifts) {
    const double drift = std::clamp(any, least_drift, most_drift);
    most_ns =
        std::max({most_ns, behind.upper(drift) - lower(drift), upper(drift) - behind.lower(drift)});
  }
  return most_ns;
}

void ClockLines::widen(double drift) {
  least_drift_ = has_any_ ? std::min(least_drift_, drift) : drift;
  most_drift_ = has_any_ ? std::max(most_drift_, drift) : drift;
  least_ns_ = has_any_ ? std::min(least_ns_, lower(drift)) : lower(drift);
  most_ns_ = has_any_ ? std::max(most_ns_, upper(drift)) : upper(drift);
  has_any_ = true;
}

ClockLines::ClockLines(const std::vector<ClockPoint>& lower, const std::vector<ClockPoint>& upper,
                       const ClockLimits& limits)
    : lower_(corners_of(lower, limits)), upper_(corners_of(upper, limits)) {
  const std::vector<double> drifts = slopes(limits.drift);
  std::vector<double> rooms;
  for (const double drift : drifts) {
    rooms.push_back(this->upper(drift) - this->lower(drift));
  }
  missing_ns_ = std::max(0.0, -*std::max_element(rooms.begin(), rooms.end()));
  for (std::size_t i = 0; i < drifts.size(); ++i) {
    if (rooms[i] >= 0) {
      widen(drifts[i]);
    }
    if (i > 0 && (rooms[i - 1] >= 0) != (rooms[i] >= 0)) {
      widen(root(drifts[i - 1], rooms[i - 1], drifts[i], rooms[i]));
    }
  }
  if (has_any_) {
    tighten(limits);
  }
  const double least_ns = highest_of(lower, limits.drift);
  const double most_ns = -highest_of(upper, limits.drift);
  least_ns_ = has_any_ ? std::max(least_ns_, least_ns) : least_ns;
  most_ns_ = has_any_ ? std::min(most_ns_, most_ns) : most_ns;
}

// The lines let the difference wander as far as it may to both sides at once. Two points that lie
// between them on the two sides of the time say the same without that, two on one side say more:
// with these it is as good as what a linear program makes of all points (tests/bench/RESULTS.md).
void ClockLines::tighten(const ClockLimits& limits) {
  least_ns_ = std::max(least_ns_, -most_beyond(upper_, lower_, limits));
  most_ns_ = std::min(most_ns_, most_beyond(lower_, upper_, limits));
  // Of times that are whole nanoseconds, each half of one off, most_part times over.
  constexpr double least_told_ns = 33;
  if (least_ns_ > most_ns_ + least_told_ns) {
    has_any_ = false;
    missing_ns_ = least_ns_ - most_ns_;
  }
}

}  // namespace traceagent::tools
