#include "tools/clocks/clock_pair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tools/clocks/clock_runs.hpp"

namespace traceagent::tools {

namespace {

std::int64_t less(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// A clock that is set back has some times twice. False: there is no telling which is which.
bool keep_order(std::vector<ClockDifference::Knot>& knots) {
  for (std::size_t i = 1; i < knots.size(); ++i) {
    ClockDifference::Knot& knot = knots[i];
    const ClockDifference::Knot& before = knots[i - 1];
    const double back_ns =
        before.offset_ns - knot.offset_ns - static_cast<double>(knot.at_ns - before.at_ns);
    if (back_ns > before.bound_ns + knot.bound_ns) {
      return false;
    }
    if (back_ns > 0) {
      knot.offset_ns += back_ns;
      knot.bound_ns += back_ns;
    }
  }
  return true;
}

// Nobody sets a clock by so little: it was set elsewhere, by more, where the drift hides it.
bool has_too_small_step(const std::vector<ClockDifference::Knot>& knots) {
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const double by_ns = knots[i].offset_ns - knots[i - 1].offset_ns;
    if (knots[i].after_step && std::abs(by_ns) < least_step_ns / 2) {
      return true;
    }
  }
  return false;
}

}  // namespace

double ClockPair::relative(std::int64_t t_ns) const {
  return static_cast<double>(less(t_ns, base_t_ns_));
}

std::int64_t ClockPair::absolute(double t_ns) const { return base_t_ns_ + std::llround(t_ns); }

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
    base_y_ns_ = less(says_least ? other.start_ns : other.end_ns, base_t_ns_);
  }
  ++collectives_;
  // What is unknown of them never says so.
  if (other.start_ns > own.end_ns || own.start_ns > other.end_ns) {
    allows_equal_clocks_ = false;
  }
  ClockPoint least{.from = key};
  ClockPoint most{.from = key};
  const auto set = [this](ClockPoint& point, std::int64_t theirs_ns, std::int64_t own_ns) {
    point.t_ns = relative(own_ns);
    point.y_ns = static_cast<double>(less(less(theirs_ns, own_ns), base_y_ns_));
  };
  if (says_least) set(least, other.start_ns, own.end_ns);
  if (says_most) set(most, other.end_ns, own.start_ns);
  segments_.add(says_least ? &least : nullptr, says_most ? &most : nullptr);
}

// At the slowest wandering that the collectives allow.
ClockPair::Solution ClockPair::solution(const ClockSpan& span) {
  ClockLimits limits = limits_;
  const auto find = [&](double faster) {
    limits.wander_per_second = limits_.wander_per_second * faster;
    return ClockKnots(segments_.all(), limits, relative(span.from_ns), relative(span.until_ns));
  };
  ClockKnots found = find(1.0);
  for (const double faster : {3.0, 10.0}) {
    if (found.is_contradicted()) {
      found = find(faster);
    }
  }
  Solution made{.limits = limits, .found = std::move(found), .relative = {}, .knots = {}};
  set_knots(made, made.found.all());
  return made;
}

void ClockPair::set_knots(Solution& solution, std::vector<ClockKnots::Knot> relative) const {
  solution.relative = std::move(relative);
  solution.knots = absolute_knots(solution.relative);
  solution.is_in_order = keep_order(solution.knots);
}

bool ClockPair::is_accepted(const Solution& solution) const {
  const ClockKnots& found = solution.found;
  return !found.contradiction() && solution.is_in_order && segments_.is_sure() &&
         found.steps() == segments_.steps() + found.pauses_with_step() &&
         !has_too_small_step(solution.knots);
}

// What lies on the two sides of a hideout says nothing of the other's.
ClockPair::Solution ClockPair::apart(Solution together, std::vector<ClockHideout>& hideouts,
                                     const ClockSpan& span) {
  std::vector<ClockSegment*> changed;
  for (const ClockHideout& hideout : hideouts) {
    ClockSegment& segment = segments_.all()[hideout.segment];
    if (hideout.place == ClockHideout::Place::before && !segment.begins_run) {
      segment.begins_run = true;
      changed.push_back(&segment);
    }
  }
  if (changed.empty()) {
    return together;
  }
  Solution made = solution(span);
  const auto bound_ns = [&](const Solution& each) {
    // One side of the difference alone is known.
    if (each.knots.empty()) return std::numeric_limits<double>::infinity();
    return ClockDifference(each.knots, each.limits).bound_ns(span);
  };
  if (!is_accepted(together) || together.found.is_contradicted() ||
      (is_accepted(made) && bound_ns(made) <= bound_ns(together))) {
    return made;
  }
  if (is_accepted(made) && made.limits.wander_per_second == together.limits.wander_per_second &&
      mix(together, made, hideouts, span)) {
    return together;
  }
  for (ClockSegment* segment : changed) {
    segment->begins_run = false;
  }
  return together;
}

// Runs that know enough, or nearly as much, without the others get the knots that were found
// without; the others become unsure. False: there is none of the first kind.
bool ClockPair::mix(Solution& together, const Solution& made, std::vector<ClockHideout>& hideouts,
                    const ClockSpan& span) {
  constexpr double nearly = 1.25;
  constexpr double small_ns = 20e3;  // what is closer than that is not worth times that are unsure
  const double most_ns =
      std::max(small_ns, nearly * ClockDifference(together.knots, together.limits).bound_ns(span));
  std::vector<ClockKnots::Knot> mixed;
  std::vector<ClockHideout> unsure;
  const auto runs = clock_runs(segments_.all(), relative(span.from_ns), relative(span.until_ns));
  for (const ClockRun& run : runs) {
    std::vector<ClockKnots::Knot> knots = knots_of(run, made.relative);
    const ClockSpan own{absolute(run.from_ns), absolute(run.until_ns)};
    if (knots.empty() ||
        ClockDifference(absolute_knots(knots), made.limits).bound_ns(own) > most_ns) {
      knots = knots_of(run, together.relative);
      unsure.push_back({run.first, ClockHideout::Place::at_end, run.from_ns, run.until_ns,
                        hidden_around_ns(run, hideouts)});
    }
    mixed.insert(mixed.end(), knots.begin(), knots.end());
  }
  if (unsure.size() == runs.size()) {
    return false;
  }
  set_knots(together, std::move(mixed));
  hideouts.insert(hideouts.end(), unsure.begin(), unsure.end());
  return true;
}

std::vector<ClockDifference::Knot> ClockPair::absolute_knots(
    const std::vector<ClockKnots::Knot>& relative) const {
  std::vector<ClockDifference::Knot> knots;
  for (const ClockKnots::Knot& knot : relative) {
    const double offset_ns = static_cast<double>(base_y_ns_) + knot.y_ns;
    // The correction is rounded to a nanosecond twice, and a clock that is decades off (it shows
    // 1970) to what a double can tell.
    const double rounded_ns = 1.0 + std::abs(offset_ns) * std::numeric_limits<double>::epsilon();
    knots.push_back({.at_ns = absolute(knot.t_ns),
                     .offset_ns = offset_ns,
                     .bound_ns = knot.bound_ns + rounded_ns,
                     .after_step = knot.after_step,
                     .is_kinked = knot.is_kinked});
  }
  return knots;
}

void ClockPair::add_step(const ClockKnots::Knot& knot, const ClockDifference::Knot& before,
                         const ClockDifference::Knot& behind) {
  ClockSpan span{absolute(knot.set_after_ns),
                 std::max<std::int64_t>(behind.at_ns, absolute(knot.set_until_ns))};
  const double by_ns = behind.offset_ns - before.offset_ns;
  const auto gap_ns = static_cast<double>(span.until_ns - span.from_ns);
  const double bound_ns =
      std::abs(by_ns) + limits_.drift * gap_ns + before.bound_ns + behind.bound_ns;
  // If it was this clock that was set, back, it told some times before and behind twice.
  if (by_ns > 0) {
    span = widened(span, bound_ns);
  }
  difference_.steps.push_back({.span = span, .by_ns = by_ns, .bound_ns = bound_ns});
  // A clock that was set in a long time may have been set there twice.
  if (gap_ns >= hiding_pause_ns(limits_)) {
    difference_.unsure.push_back({.span = span, .by_ns = bound_ns});
  }
}

// Where both sides were taken together, all that was taken together is as unsure, up to what other
// collectives say.
ClockSpan ClockPair::unsure_span(const ClockHideout& hideout, const ClockSpan& whole) {
  const std::vector<ClockSegment>& segments = segments_.all();
  const bool is_apart =
      hideout.place == ClockHideout::Place::at_end ||
      (hideout.place == ClockHideout::Place::before && segments[hideout.segment].begins_run);
  if (is_apart) {
    return {absolute(hideout.from_ns), absolute(hideout.until_ns)};
  }
  std::size_t first = hideout.segment;
  std::size_t end = hideout.segment + 1;
  while (!segments[first].begins_run) {
    --first;
  }
  while (end < segments.size() && !segments[end].begins_run) {
    ++end;
  }
  return {first > 0 ? absolute(segments[first - 1].until_ns) : whole.from_ns,
          end < segments.size() ? absolute(segments[end].from_ns) : whole.until_ns};
}

ClockSpan ClockPair::seen_span() const {
  const std::vector<ClockSegment>& segments = segments_.all();
  // One behind the last step may have nothing in it yet.
  const auto last = std::find_if(segments.rbegin(), segments.rend(),
                                 [](const ClockSegment& segment) { return !segment.is_empty(); });
  return {absolute(segments.front().seen_from_ns()), absolute(last->seen_until_ns())};
}

void ClockPair::add_unsure(const std::vector<ClockHideout>& hideouts, const ClockSpan& whole) {
  for (const ClockHideout& hideout : hideouts) {
    // A clock that was set back told times before and behind twice.
    const double by_ns = std::isfinite(hideout.by_ns) ? hideout.by_ns : 0.0;
    difference_.unsure.push_back(
        {.span = widened(unsure_span(hideout, whole), by_ns), .by_ns = hideout.by_ns});
  }
}

// By how much the clock was set in a step is known as well as what it was on both sides is: where
// it may have been set again there, unseen, the step is as unsure.
void ClockPair::add_unsure_steps() {
  std::vector<ClockUnsure> steps;
  for (const ClockStep& step : difference_.steps) {
    for (const ClockUnsure& each : difference_.unsure) {
      if (each.span.from_ns < step.span.until_ns && step.span.from_ns < each.span.until_ns) {
        steps.push_back({.span = step.span, .by_ns = step.bound_ns + each.by_ns});
      }
    }
  }
  difference_.unsure.insert(difference_.unsure.end(), steps.begin(), steps.end());
}

ClockPair::Answer ClockPair::refused(const std::optional<Contradiction>& because) {
  contradiction_ = because.value_or(Contradiction());
  return Answer::contradictory;
}

ClockPair::Answer ClockPair::solve(const ClockSpan& span) {
  if (segments_.contradiction()) {
    return refused(segments_.contradiction());
  }
  Solution solved = solution(span);
  auto hideouts = clock_hideouts(segments_.all(), solved.limits);
  solved = apart(std::move(solved), hideouts, span);
  const ClockKnots& found = solved.found;
  if (found.contradiction()) {
    return refused(found.contradiction());
  }
  if (solved.knots.empty() && segments_.steps() == 0) {
    return Answer::one_sided;
  }
  if (!is_accepted(solved)) {
    return refused(segments_.last_step() ? segments_.last_step() : found.first_pause());
  }
  limits_ = solved.limits;
  difference_ = ClockDifference(solved.knots, limits_);
  for (std::size_t i = 1; i < solved.knots.size(); ++i) {
    if (solved.knots[i].after_step) {
      add_step(solved.relative[i], solved.knots[i - 1], solved.knots[i]);
    }
  }
  add_unsure(hideouts, span);
  add_unsure_steps();
  difference_.seen = seen_span();
  return Answer::solved;
}

}  // namespace traceagent::tools
