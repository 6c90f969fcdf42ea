#include "tools/clocks/clock_pair.hpp"

#include <algorithm>
#include <cmath>

namespace traceagent::tools {

namespace {

// NTP slews what is less than 128 ms, people and chrony may set it by less.
constexpr double least_step_ns = 1e6;
constexpr std::size_t most_steps = 16;
constexpr std::uint64_t least_between_steps = 4;  // collectives
// No collective is closer; so a segment is some seconds long at least.
constexpr double least_room_ns = 1e3;
// From so many segments on they are twice as long, and so on: memory is bounded.
constexpr std::size_t segments_of_a_length = 4096;

std::int64_t less(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

double ClockPair::relative(std::int64_t t_ns) const {
  return static_cast<double>(less(t_ns, base_t_ns_));
}

double ClockPair::least_at(double t_ns) const {
  return least_ ? least_->y_ns - limits_.drift * std::abs(t_ns - least_->t_ns)
                : -std::numeric_limits<double>::infinity();
}

double ClockPair::most_at(double t_ns) const {
  return most_ ? most_->y_ns + limits_.drift * std::abs(t_ns - most_->t_ns)
               : std::numeric_limits<double>::infinity();
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
    base_y_ns_ = less(says_least ? other.start_ns : other.end_ns, base_t_ns_);
  }
  ++collectives_;
  ClockPoint least{.from = key};
  ClockPoint most{.from = key};
  const auto set = [this](ClockPoint& point, std::int64_t theirs_ns, std::int64_t own_ns) {
    point.t_ns = relative(own_ns);
    point.y_ns = static_cast<double>(less(less(theirs_ns, own_ns), base_y_ns_));
  };
  if (says_least) set(least, other.start_ns, own.end_ns);
  if (says_most) set(most, other.end_ns, own.start_ns);
  const ClockPoint* const lower = says_least ? &least : nullptr;
  const ClockPoint* const upper = says_most ? &most : nullptr;
  if (!contradiction_ && compare(lower, upper)) {
    see(lower, upper);
  }
}

// With what the collectives before it say. False: nothing goes any more.
bool ClockPair::compare(const ClockPoint* least, const ClockPoint* most) {
  const double above_ns = least != nullptr ? least->y_ns - most_at(least->t_ns) : -1;
  const double below_ns = most != nullptr ? least_at(most->t_ns) - most->y_ns : -1;
  if (above_ns <= 0 && below_ns <= 0) {
    return true;
  }
  const bool is_above = above_ns > below_ns;
  const ClockPoint old = is_above ? *most_ : *least_;
  const Contradiction found{.by_ns = std::max(above_ns, below_ns),
                            .lower = is_above ? least->from : old.from,
                            .upper = is_above ? old.from : most->from};
  if (found.by_ns < least_step_ns || since_step_ < least_between_steps || steps_ == most_steps) {
    // Of steps that come too often the first says most.
    contradiction_ = last_step_ && since_step_ < least_between_steps ? last_step_ : found;
    return false;
  }
  last_step_ = found;
  // A collective may be in flight while the clock is set.
  const double until_ns = std::max(least != nullptr ? least->t_ns : most->t_ns,
                                   most != nullptr ? most->t_ns : least->t_ns);
  begin_behind_step(is_above ? most_from_ns_ : least_from_ns_, until_ns);
  return true;
}

void ClockPair::begin_behind_step(double set_after_ns, double set_until_ns) {
  ++steps_;
  since_step_ = 0;
  least_.reset();
  most_.reset();
  segments_.emplace_back();
  segments_.back().begins_run = true;
  segments_.back().set_after_ns = set_after_ns;
  segments_.back().set_until_ns = set_until_ns;
}

void ClockPair::see(const ClockPoint* least, const ClockPoint* most) {
  ++since_step_;
  const double t_ns = most != nullptr ? most->t_ns : least->t_ns;
  const double from_ns = least != nullptr ? std::min(t_ns, least->t_ns) : t_ns;
  if (least != nullptr && least->y_ns >= least_at(least->t_ns)) {
    least_ = *least;
    least_from_ns_ = from_ns;
  }
  if (most != nullptr && most->y_ns <= most_at(most->t_ns)) {
    most_ = *most;
    most_from_ns_ = from_ns;
  }
  Segment& segment = segment_at(t_ns);
  segment.room_ns = std::min(segment.room_ns, most_at(t_ns) - least_at(t_ns));
  for (const ClockPoint* point : {least, most}) {
    if (point != nullptr) {
      segment.from_ns = std::min(segment.from_ns, point->t_ns);
      segment.until_ns = std::max(segment.until_ns, point->t_ns);
    }
  }
  if (least != nullptr) {
    segment.below.add(*least);
  }
  if (most != nullptr) {
    segment.above_negated.add({most->t_ns, -most->y_ns, most->from});
  }
}

// What the corners of a hull hide of the points beneath its edges is what d bends within an edge:
// at a distance of half of it, a sixteenth of the room.
double ClockPair::longest_ns(const Segment& segment) const {
  const std::size_t doublings = segments_.size() / segments_of_a_length;
  const double room_ns = std::max(segment.room_ns, least_room_ns);
  return std::ldexp(std::sqrt(room_ns / (8 * limits_.wander_per_second * 1e-9)),
                    static_cast<int>(std::min<std::size_t>(doublings, 30)));
}

ClockPair::Segment& ClockPair::segment_at(double t_ns) {
  const auto begin = [&](bool begins_run) -> Segment& {
    Segment& segment = segments_.emplace_back();
    segment.from_ns = segment.until_ns = t_ns;
    segment.begins_run = begins_run;
    return segment;
  };
  if (segments_.empty()) {
    return begin(true);
  }
  Segment& last = segments_.back();
  if (last.is_empty()) {
    last.from_ns = last.until_ns = t_ns;
    return last;
  }
  const double longest = longest_ns(last);
  if (!last.bounds_both() || t_ns - last.from_ns <= longest) {
    return last;
  }
  last.below.settle();
  last.above_negated.settle();
  return begin(t_ns - last.until_ns > 2 * longest);
}

// Until then the difference goes on from the last knot. Nothing says how, where a pause and
// one-sided collectives lie between.
void ClockPair::begin_step(double set_after_ns, double set_until_ns) {
  const std::int64_t at_ns = base_t_ns_ + std::llround(set_after_ns);
  if (!knots_.empty() && at_ns > knots_.back().at_ns) {
    ClockDifference::Knot knot = knots_.back();
    knot.bound_ns += limits_.drift * static_cast<double>(at_ns - knot.at_ns);
    knot.at_ns = at_ns;
    knot.is_kinked = true;
    knots_.push_back(knot);
  }
  pending_step_ = SetWithin{set_after_ns, set_until_ns};
}

// No collective contradicts those before a pause if it was long enough for the drift to explain
// anything. But what both sides say of the drift, and what it may change by, can.
bool ClockPair::is_broken_before(std::size_t i) {
  const double t_ns = (segments_[i - 1].until_ns + segments_[i].from_ns) / 2;
  const std::optional<ClockLines> lines = lines_around(t_ns, i - 1, i + 1);
  if (!lines || lines->has_any()) {
    return false;
  }
  is_contradicted_ = true;
  if (!last_step_) {
    last_step_ = Contradiction{.by_ns = lines->missing_ns(),
                               .lower = lines->a_lower().from,
                               .upper = lines->an_upper().from};
  }
  return true;
}

// Where it begins, and where it goes over into the next or ends.
void ClockPair::add_knots(std::size_t i, const ClockSpan& span) {
  const Segment& own = segments_[i];
  if (own.begins_run) {
    if (own.set_after_ns) {
      begin_step(*own.set_after_ns, own.set_until_ns);
    } else if (i > 0 && is_broken_before(i)) {
      ++pauses_with_step_;
      begin_step(segments_[i - 1].until_ns, own.from_ns);
    }
    add_knot(i == 0 ? std::min(own.from_ns, relative(span.from_ns)) : own.from_ns, i);
  }
  if (i + 1 == segments_.size()) {
    add_knot(std::max(own.until_ns, relative(span.until_ns)), i);
  } else if (segments_[i + 1].begins_run) {
    add_knot(own.until_ns, i);
  } else {
    add_knot((own.until_ns + segments_[i + 1].from_ns) / 2, i);
  }
}

// Of the segments from `first` to before `end`.
std::optional<ClockLines> ClockPair::lines_around(double t_ns, std::size_t first, std::size_t end) {
  std::vector<ClockPoint> lower;
  std::vector<ClockPoint> upper;
  for (std::size_t i = first; i < end; ++i) {
    for (ClockPoint point : segments_[i].below.corners()) {
      point.t_ns -= t_ns;
      lower.push_back(point);
    }
    for (ClockPoint point : segments_[i].above_negated.corners()) {
      point.t_ns -= t_ns;
      upper.push_back(point);
    }
  }
  if (lower.empty() || upper.empty()) {
    return std::nullopt;
  }
  return ClockLines(lower, upper, limits_);
}

// Of the segment and its run, one more to both sides each time: until what d may wander is more
// than what is open.
void ClockPair::add_knot(double t_ns, std::size_t segment) {
  const std::int64_t at_ns = base_t_ns_ + std::llround(t_ns);
  if (!knots_.empty() && at_ns <= knots_.back().at_ns) {
    return;
  }
  std::size_t first = segment;
  std::size_t end = segment + 1;
  std::optional<ClockLines> best;
  bool is_kinked = false;
  while (true) {
    const bool has_before = !segments_[first].begins_run;
    const bool has_next = end < segments_.size() && !segments_[end].begins_run;
    const double reach_ns = std::max(has_before ? t_ns - segments_[first].from_ns : 0.0,
                                     has_next ? segments_[end - 1].until_ns - t_ns : 0.0);
    const double open_ns = best ? (best->most_ns() - best->least_ns()) / 2 : 0.0;
    if (best && ((!has_before && !has_next) || wandered_ns(limits_, reach_ns) > open_ns)) {
      break;
    }
    first -= has_before ? 1 : 0;
    end += has_next ? 1 : 0;
    const std::optional<ClockLines> lines = lines_around(t_ns, first, end);
    const bool is_better = lines && (!best || lines->has_any());
    best = is_better ? lines : best;
    if (!lines || !lines->has_any()) {
      is_contradicted_ = is_contradicted_ || lines;
      is_kinked = is_kinked || lines;
      break;
    }
  }
  if (!best) {
    return;
  }
  if (best->least_ns() > best->most_ns() + least_room_ns && !contradiction_) {
    contradiction_ = Contradiction{.by_ns = best->least_ns() - best->most_ns(),
                                   .lower = best->a_lower().from,
                                   .upper = best->an_upper().from};
  }
  // What was before it is not known to be on the same side of the step: solve() sees that one is
  // missing.
  if (knots_.empty()) {
    pending_step_.reset();
  }
  const double offset_ns =
      static_cast<double>(base_y_ns_) + (best->least_ns() + best->most_ns()) / 2;
  // The correction is rounded to a nanosecond twice, and a clock that is decades off (it shows
  // 1970) to what a double can tell.
  const double rounded_ns = 1.0 + std::abs(offset_ns) * std::numeric_limits<double>::epsilon();
  knots_.push_back({.at_ns = at_ns,
                    .offset_ns = offset_ns,
                    .bound_ns = std::abs(best->most_ns() - best->least_ns()) / 2 + rounded_ns,
                    .after_step = pending_step_.has_value(),
                    .is_kinked = is_kinked});
  if (pending_step_) {
    set_within_.push_back(*pending_step_);
    pending_step_.reset();
  }
}

// A clock that is set back has some times twice. False: there is no telling which is which.
bool ClockPair::keep_order() {
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    ClockDifference::Knot& knot = knots_[i];
    const ClockDifference::Knot& before = knots_[i - 1];
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

void ClockPair::add_steps() {
  std::size_t number = 0;
  for (std::size_t i = 1; i < knots_.size(); ++i) {
    const ClockDifference::Knot& knot = knots_[i];
    if (!knot.after_step) {
      continue;
    }
    const SetWithin& set = set_within_[number++];
    ClockSpan span{base_t_ns_ + std::llround(set.after_ns),
                   std::max<std::int64_t>(knot.at_ns, base_t_ns_ + std::llround(set.until_ns))};
    const double by_ns = knot.offset_ns - knots_[i - 1].offset_ns;
    const auto gap_ns = static_cast<double>(span.until_ns - span.from_ns);
    const double bound_ns =
        std::abs(by_ns) + limits_.drift * gap_ns + knot.bound_ns + knots_[i - 1].bound_ns;
    // If it was this clock that was set, back, it told some times before and behind twice.
    if (by_ns > 0) {
      span = widened(span, bound_ns);
    }
    difference_.steps.push_back({.span = span, .by_ns = by_ns, .bound_ns = bound_ns});
  }
}

// False: somewhere the clocks wander faster.
bool ClockPair::find_knots(const ClockSpan& span) {
  knots_.clear();
  set_within_.clear();
  pending_step_.reset();
  pauses_with_step_ = 0;
  is_contradicted_ = false;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    add_knots(i, span);
  }
  return !is_contradicted_;
}

ClockPair::Answer ClockPair::solve(const ClockSpan& span) {
  if (contradiction_) {
    return Answer::contradictory;
  }
  const double slowest = limits_.wander_per_second;
  for (const double faster : {1.0, 3.0, 10.0}) {
    limits_.wander_per_second = slowest * faster;
    if (find_knots(span)) {
      break;
    }
  }
  if (contradiction_) {
    return Answer::contradictory;
  }
  if (knots_.empty() && steps_ == 0) {
    return Answer::one_sided;
  }
  const bool is_sure = steps_ == 0 || since_step_ >= least_between_steps;
  if (!is_sure || set_within_.size() != steps_ + pauses_with_step_ || !keep_order()) {
    contradiction_ = last_step_.value_or(Contradiction());
    return Answer::contradictory;
  }
  difference_ = ClockDifference(knots_, limits_);
  add_steps();
  return Answer::solved;
}

}  // namespace traceagent::tools
