#include "tools/clocks/clock_knots.hpp"

#include <algorithm>
#include <cmath>

namespace traceagent::tools {

namespace {

void append(const std::vector<ClockPoint>& corners, double t_ns, std::vector<ClockPoint>& to) {
  for (ClockPoint point : corners) {
    point.t_ns -= t_ns;
    to.push_back(point);
  }
}

}  // namespace

std::optional<ClockLines> lines_of(std::vector<ClockSegment>& segments, std::size_t first,
                                   std::size_t end, double t_ns, const ClockLimits& limits) {
  std::vector<ClockPoint> lower;
  std::vector<ClockPoint> upper;
  for (std::size_t i = first; i < end; ++i) {
    append(segments[i].below.corners(), t_ns, lower);
    append(segments[i].above_negated.corners(), t_ns, upper);
  }
  if (lower.empty() || upper.empty()) {
    return std::nullopt;
  }
  return ClockLines(lower, upper, limits);
}

ClockKnots::ClockKnots(std::vector<ClockSegment>& segments, const ClockLimits& limits,
                       double from_ns, double until_ns)
    : segments_(&segments), limits_(limits) {
  for (std::size_t i = 0; i < segments_->size(); ++i) {
    add_of(i, from_ns, until_ns);
  }
}

// Where the segment begins, and where it goes over into the next or ends.
void ClockKnots::add_of(std::size_t i, double from_ns, double until_ns) {
  const ClockSegment& own = (*segments_)[i];
  if (own.begins_run) {
    begin_run(i);
    add(i == 0 ? std::min(own.from_ns, from_ns) : own.from_ns, i);
  }
  if (i + 1 == segments_->size()) {
    add(std::max(own.until_ns, until_ns), i);
  } else if ((*segments_)[i + 1].begins_run) {
    add(own.until_ns, i);
  } else {
    add((own.until_ns + (*segments_)[i + 1].from_ns) / 2, i);
  }
}

void ClockKnots::begin_run(std::size_t i) {
  const ClockSegment& own = (*segments_)[i];
  if (own.set_after_ns) {
    begin_step(*own.set_after_ns, own.set_until_ns);
  } else if (i > 0 && is_broken_before(i)) {
    ++pauses_with_step_;
    begin_step((*segments_)[i - 1].until_ns, own.from_ns);
  }
}

// Until then the difference goes on from the last knot. Nothing says how, where a pause and
// one-sided collectives lie between.
void ClockKnots::begin_step(double set_after_ns, double set_until_ns) {
  if (!knots_.empty() && set_after_ns > knots_.back().t_ns) {
    Knot knot = knots_.back();
    knot.bound_ns += limits_.drift * (set_after_ns - knot.t_ns);
    knot.t_ns = set_after_ns;
    knot.is_kinked = true;
    knot.after_step = false;
    knots_.push_back(knot);
  }
  pending_step_ = SetWithin{set_after_ns, set_until_ns};
}

// No collective contradicts those before a pause if it was long enough for the drift to explain
// anything. But what both sides say of the drift, and what it may change by, can.
bool ClockKnots::is_broken_before(std::size_t i) {
  const double t_ns = ((*segments_)[i - 1].until_ns + (*segments_)[i].from_ns) / 2;
  const std::optional<ClockLines> lines = lines_of(*segments_, i - 1, i + 1, t_ns, limits_);
  if (!lines || lines->has_any()) {
    return false;
  }
  is_contradicted_ = true;
  if (!first_pause_) {
    first_pause_ = ClockSegments::Contradiction{.by_ns = lines->missing_ns(),
                                                .lower = lines->a_lower().from,
                                                .upper = lines->an_upper().from};
  }
  return true;
}

// What the difference may wander on the way there is more than what is open.
bool ClockKnots::is_enough(const ClockLines& lines, double reach_ns) const {
  return wandered_ns(limits_, reach_ns) > (lines.most_ns() - lines.least_ns()) / 2;
}

// Of the segment and its run, more to both sides each time.
ClockKnots::Found ClockKnots::around(double t_ns, std::size_t segment) {
  Found found;
  std::size_t first = segment;
  std::size_t end = segment + 1;
  for (std::size_t more = 1;; more *= 2) {
    const bool has_before = !(*segments_)[first].begins_run;
    const bool has_next = end < segments_->size() && !(*segments_)[end].begins_run;
    const double reach_ns = std::max(has_before ? t_ns - (*segments_)[first].from_ns : 0.0,
                                     has_next ? (*segments_)[end - 1].until_ns - t_ns : 0.0);
    if (found.lines && ((!has_before && !has_next) || is_enough(*found.lines, reach_ns))) {
      return found;
    }
    for (std::size_t i = 0; i < more; ++i) {
      first -= (*segments_)[first].begins_run ? 0 : 1;
      end += end < segments_->size() && !(*segments_)[end].begins_run ? 1 : 0;
    }
    const std::optional<ClockLines> lines = lines_of(*segments_, first, end, t_ns, limits_);
    if (lines && (!found.lines || lines->has_any())) {
      found.lines = lines;
    }
    if (!lines || !lines->has_any()) {
      found.is_kinked = lines.has_value();
      return found;
    }
  }
}

void ClockKnots::add(double t_ns, std::size_t segment) {
  if (!knots_.empty() && t_ns < knots_.back().t_ns + 1) {
    return;
  }
  const Found found = around(t_ns, segment);
  is_contradicted_ = is_contradicted_ || found.is_kinked;
  if (!found.lines) {
    return;
  }
  const ClockLines& lines = *found.lines;
  if (lines.least_ns() > lines.most_ns() + least_room_ns && !contradiction_) {
    contradiction_ = ClockSegments::Contradiction{.by_ns = lines.least_ns() - lines.most_ns(),
                                                  .lower = lines.a_lower().from,
                                                  .upper = lines.an_upper().from};
  }
  // What was before it is not known to be on the same side of the step: who counts the steps sees
  // that one is missing.
  if (knots_.empty()) {
    pending_step_.reset();
  }
  Knot knot{.t_ns = t_ns,
            .y_ns = (lines.least_ns() + lines.most_ns()) / 2,
            .bound_ns = std::abs(lines.most_ns() - lines.least_ns()) / 2,
            .is_kinked = found.is_kinked};
  if (pending_step_) {
    knot.after_step = true;
    knot.set_after_ns = pending_step_->after_ns;
    knot.set_until_ns = pending_step_->until_ns;
    pending_step_.reset();
    ++steps_;
  }
  knots_.push_back(knot);
}

}  // namespace traceagent::tools
