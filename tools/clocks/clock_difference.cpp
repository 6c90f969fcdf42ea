#include "tools/clocks/clock_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace traceagent::tools {

namespace {

// Wraps rather than overflows: times come from files.
double length_ns(std::int64_t from_ns, std::int64_t until_ns) {
  return static_cast<double>(static_cast<std::int64_t>(static_cast<std::uint64_t>(until_ns) -
                                                       static_cast<std::uint64_t>(from_ns)));
}

}  // namespace

ClockSpan widened(const ClockSpan& span, double by_ns) {
  return {span.from_ns - std::llround(by_ns), span.until_ns + std::llround(by_ns)};
}

ClockDifference::ClockDifference(const std::vector<Knot>& knots, const ClockLimits& limits)
    : knots_(knots), limits_(limits) {
  std::vector<trace::ClockKnot> corners;
  for (const Knot& knot : knots_) {
    corners.push_back({knot.at_ns, std::llround(knot.offset_ns)});
  }
  correction_ = trace::ClockCorrection(std::move(corners));
}

// With t' = t + d(t), an error b of d at t is one of at most b / (1 - limit) of t.
ClockDifference ClockDifference::inverse() const {
  std::vector<Knot> knots = knots_;
  for (Knot& knot : knots) {
    knot.at_ns += std::llround(knot.offset_ns);
    knot.offset_ns = -knot.offset_ns;
    knot.bound_ns = knot.bound_ns / (1.0 - limits_.drift) + 1.0;
  }
  ClockDifference turned(knots, limits_);
  for (const ClockStep& step : steps) {
    ClockStep turned_step{.span = {correction_.corrected(step.span.from_ns),
                                   correction_.corrected(step.span.until_ns)},
                          .by_ns = -step.by_ns,
                          .bound_ns = step.bound_ns / (1.0 - limits_.drift) + 1.0};
    // The other clock may have been set back: see ClockPair::add_steps().
    if (turned_step.by_ns > 0) {
      turned_step.span = widened(turned_step.span, turned_step.bound_ns);
    }
    turned.steps.push_back(turned_step);
  }
  for (const ClockUnsure& each : unsure) {
    turned.unsure.push_back({.span = {correction_.corrected(each.span.from_ns),
                                      correction_.corrected(each.span.until_ns)},
                             .by_ns = each.by_ns / (1.0 - limits_.drift) + 1.0});
  }
  if (seen) {
    turned.seen = {correction_.corrected(seen->from_ns), correction_.corrected(seen->until_ns)};
  }
  return turned;
}

ClockDifference ClockDifference::uncorrected() const {
  ClockDifference left = *this;
  for (Knot& knot : left.knots_) {
    knot.bound_ns += std::abs(std::exchange(knot.offset_ns, 0.0));
  }
  left.correction_ = trace::ClockCorrection();
  return left;
}

// Between this knot and the next. The least of what is known: it wanders, or it drifts from the
// nearer knot on.
double ClockDifference::bound_between(std::size_t knot, const ClockSpan& part) const {
  const Knot& from = knots_[knot];
  const Knot& to = knots_[knot + 1];
  const double whole_ns = length_ns(from.at_ns, to.at_ns);
  const double part_from_ns = length_ns(from.at_ns, part.from_ns);
  const double part_until_ns = length_ns(from.at_ns, part.until_ns);
  const double drift =
      limits_.drift + std::abs(correction_.drift_at(from.at_ns + (to.at_ns - from.at_ns) / 2));
  const double middle_ns = std::clamp(whole_ns / 2, part_from_ns, part_until_ns);
  const double by_drift_ns =
      std::max(from.bound_ns, to.bound_ns) + drift * std::min(middle_ns, whole_ns - middle_ns);
  if (from.is_kinked || to.is_kinked || whole_ns <= 0) {
    return by_drift_ns;
  }
  // Straight from one knot's bound to the other's, and what d bends within: a parabola.
  const double bend = limits_.wander_per_second * 1e-9;
  const double rise = (to.bound_ns - from.bound_ns) / whole_ns;
  const double worst_ns = std::clamp(whole_ns / 2 + rise / bend, part_from_ns, part_until_ns);
  const double by_wander_ns =
      from.bound_ns + rise * worst_ns + bend * worst_ns * (whole_ns - worst_ns) / 2;
  return std::min(by_drift_ns, by_wander_ns);
}

double ClockDifference::bound_ns(const ClockSpan& span) const {
  double worst_ns = 0;
  const auto outside = [&](const Knot& knot, std::int64_t t_ns) {
    const double drift = limits_.drift + std::abs(correction_.drift_at(t_ns));
    worst_ns = std::max(worst_ns, knot.bound_ns + drift * std::abs(length_ns(knot.at_ns, t_ns)));
  };
  if (span.from_ns <= knots_.front().at_ns) {
    outside(knots_.front(), span.from_ns);
  }
  if (span.until_ns >= knots_.back().at_ns) {
    outside(knots_.back(), span.until_ns);
  }
  // The piece that the span begins in.
  const auto behind =
      std::upper_bound(knots_.begin(), knots_.end(), span.from_ns,
                       [](std::int64_t t_ns, const Knot& knot) { return t_ns < knot.at_ns; });
  std::size_t knot =
      behind == knots_.begin() ? 0 : static_cast<std::size_t>(behind - knots_.begin()) - 1;
  for (; knot + 1 < knots_.size() && knots_[knot].at_ns <= span.until_ns; ++knot) {
    if (!knots_[knot + 1].after_step) {
      worst_ns = std::max(worst_ns,
                          bound_between(knot, {std::max(span.from_ns, knots_[knot].at_ns),
                                               std::min(span.until_ns, knots_[knot + 1].at_ns)}));
    }
  }
  return worst_ns;
}

}  // namespace traceagent::tools
