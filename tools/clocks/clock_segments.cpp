#include "tools/clocks/clock_segments.hpp"

#include <algorithm>
#include <cmath>

namespace traceagent::tools {

namespace {

constexpr std::size_t most_steps = 16;
constexpr std::uint64_t least_between_steps = 4;  // collectives
// From so many segments on they are twice as long, and so on: memory is bounded.
constexpr std::size_t segments_of_a_length = 4096;

// A point that falls behind another one by more than the drift says nothing that the other does not
// say. By so many times the drift it holds also with what the difference may wander up to a time
// hours away, and leaves out nine tenths of what has to wait for its last rank.
constexpr double steeper = 32;

}  // namespace

double hiding_pause_ns(const ClockLimits& limits) { return least_step_ns / (2 * limits.drift); }

ClockSegment::ClockSegment(const ClockLimits& limits)
    : below(steeper * limits.drift), above_negated(steeper * limits.drift) {}

void ClockSegment::note_close(double begin_ns, double end_ns, double open_ns) {
  if (open_ns > least_step_ns / 2) {
    (has_close ? room_behind_ns : room_before_ns) =
        std::min(has_close ? room_behind_ns : room_before_ns, open_ns);
    return;
  }
  if (has_close) {
    longest_pause_ns = std::max(longest_pause_ns, begin_ns - close_until_ns);
  } else {
    close_from_ns = close_until_ns = begin_ns;
  }
  has_close = true;
  close_until_ns = std::max(close_until_ns, end_ns);
  room_behind_ns = std::numeric_limits<double>::infinity();
}

ClockSegments::ClockSegments(const ClockLimits& limits)
    : limits_(limits), hiding_pause_ns_(hiding_pause_ns(limits)) {}

bool ClockSegments::is_sure() const { return steps_ == 0 || since_step_ >= least_between_steps; }

double ClockSegments::least_at(double t_ns) const {
  return least_.y_ns - limits_.drift * std::abs(t_ns - least_.t_ns);
}

double ClockSegments::most_at(double t_ns) const {
  return most_.y_ns + limits_.drift * std::abs(t_ns - most_.t_ns);
}

void ClockSegments::add(const ClockPoint* least, const ClockPoint* most) {
  if (!contradiction_ && compare(least, most)) {
    see(least, most);
  }
}

// With what the collectives before it say. False: nothing goes any more.
bool ClockSegments::compare(const ClockPoint* least, const ClockPoint* most) {
  const double above_ns = least != nullptr ? least->y_ns - most_at(least->t_ns) : -1;
  const double below_ns = most != nullptr ? least_at(most->t_ns) - most->y_ns : -1;
  if (above_ns <= 0 && below_ns <= 0) {
    return true;
  }
  const bool is_above = above_ns > below_ns;
  const ClockPoint old = is_above ? most_ : least_;
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

void ClockSegments::begin_behind_step(double set_after_ns, double set_until_ns) {
  ++steps_;
  since_step_ = 0;
  least_ = no_least;
  most_ = no_most;
  ClockSegment& segment = append();
  segment.begins_run = true;
  segment.set_after_ns = set_after_ns;
  segment.set_until_ns = set_until_ns;
}

// Alone, if it says both sides.
double ClockSegments::open_ns(const ClockPoint* least, const ClockPoint* most) const {
  if (least == nullptr || most == nullptr) {
    return most != nullptr ? most->y_ns - least_at(most->t_ns) : most_at(least->t_ns) - least->y_ns;
  }
  return most->y_ns - least->y_ns + limits_.drift * std::abs(most->t_ns - least->t_ns);
}

void ClockSegments::see(const ClockPoint* least, const ClockPoint* most) {
  ++since_step_;
  const double t_ns = most != nullptr ? most->t_ns : least->t_ns;
  const double from_ns = least != nullptr ? std::min(t_ns, least->t_ns) : t_ns;
  const double until_ns = least != nullptr ? std::max(t_ns, least->t_ns) : t_ns;
  const double open = open_ns(least, most);
  if (least != nullptr && least->y_ns >= least_at(least->t_ns)) {
    least_ = *least;
    least_from_ns_ = from_ns;
  }
  if (most != nullptr && most->y_ns <= most_at(most->t_ns)) {
    most_ = *most;
    most_from_ns_ = from_ns;
  }
  ClockSegment& segment = segment_at(t_ns);
  const double room_ns = most_at(t_ns) - least_at(t_ns);
  if (room_ns < segment.room_ns) {
    segment.room_ns = room_ns;
    longest_ns_ = longest_ns(room_ns);
  }
  segment.from_ns = std::min(segment.from_ns, from_ns);
  segment.until_ns = std::max(segment.until_ns, until_ns);
  segment.note_close(from_ns, until_ns, open);
  if (least != nullptr) {
    segment.below.add(*least);
  }
  if (most != nullptr) {
    segment.above_negated.add({most->t_ns, -most->y_ns, most->from});
  }
}

// What the corners of a hull hide of the points beneath its edges is what d bends within an edge:
// at a distance of half of it, a sixteenth of the room.
double ClockSegments::longest_ns(double room_ns) const {
  return length_scale_ *
         std::sqrt(std::max(room_ns, least_room_ns) / (8 * limits_.wander_per_second * 1e-9));
}

ClockSegment& ClockSegments::append() {
  ClockSegment& segment = all_.emplace_back(limits_);
  const std::size_t doublings = std::min<std::size_t>(all_.size() / segments_of_a_length, 30);
  length_scale_ = std::ldexp(1.0, static_cast<int>(doublings));
  longest_ns_ = std::numeric_limits<double>::infinity();
  return segment;
}

ClockSegment& ClockSegments::begin(double t_ns, bool begins_run) {
  ClockSegment& segment = append();
  segment.from_ns = segment.until_ns = t_ns;
  segment.begins_run = begins_run;
  return segment;
}

bool ClockSegments::is_over(const ClockSegment& last, double t_ns) const {
  const double pause_ns = t_ns - (last.has_close ? last.close_until_ns : last.from_ns);
  return t_ns - last.from_ns > longest_ns_ || pause_ns > length_scale_ * hiding_pause_ns_;
}

ClockSegment& ClockSegments::segment_at(double t_ns) {
  if (all_.empty()) {
    return begin(t_ns, true);
  }
  ClockSegment& last = all_.back();
  if (last.is_empty()) {
    last.from_ns = last.until_ns = t_ns;
    return last;
  }
  // What says one side only waits for the other, but not over a pause: before and behind it a
  // segment's sides would be of two differences, and nothing would show that.
  const bool goes_on = last.bounds_both()
                           ? !is_over(last, t_ns)
                           : t_ns - last.until_ns <= length_scale_ * hiding_pause_ns_;
  if (goes_on) {
    return last;
  }
  last.below.settle();
  last.above_negated.settle();
  return begin(t_ns, t_ns - last.until_ns > 2 * longest_ns_);
}

}  // namespace traceagent::tools
