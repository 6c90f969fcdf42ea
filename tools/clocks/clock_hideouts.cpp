#include "tools/clocks/clock_hideouts.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/clocks/clock_knots.hpp"

namespace traceagent::tools {

namespace {

// More of them say nothing that matters of the drift at the pause.
constexpr std::size_t most_neighbours = 8;

class Hideouts {
 public:
  Hideouts(std::vector<ClockSegment>& segments, const ClockLimits& limits)
      : segments_(segments), limits_(limits) {}

  void find();
  [[nodiscard]] std::vector<ClockHideout> take() { return std::move(all_); }

 private:
  [[nodiscard]] bool could_hide(double pause_ns) const {
    return pause_ns >= hiding_pause_ns(limits_);
  }
  [[nodiscard]] bool is_candidate(std::size_t i) const {
    return i > 0 && !segments_[i].set_after_ns && could_hide(pause_before_ns(i));
  }
  // Between the segment and the one before it.
  [[nodiscard]] double pause_before_ns(std::size_t i) const {
    return segments_[i].seen_from_ns() - segments_[i - 1].seen_until_ns();
  }
  [[nodiscard]] bool goes_on(std::size_t i) const {
    return !segments_[i].begins_run && hidden_ns_[i] < least_step_ns;
  }
  [[nodiscard]] double most_hidden_ns(std::size_t i) const;
  void find_hidden();
  void add_before(std::size_t i);
  void add_within(std::size_t i);

  std::vector<ClockSegment>& segments_;
  const ClockLimits& limits_;
  std::vector<double> hidden_ns_;  // before each segment
  std::vector<ClockHideout> all_;
};

double Hideouts::most_hidden_ns(std::size_t i) const {
  std::size_t first = i - 1;
  std::size_t end = i + 1;
  while (first > 0 && i - first < most_neighbours && goes_on(first)) {
    --first;
  }
  while (end < segments_.size() && end - i < most_neighbours && goes_on(end)) {
    ++end;
  }
  const double t_ns = (segments_[i - 1].until_ns + segments_[i].from_ns) / 2;
  const auto before = lines_of(segments_, first, i, t_ns, limits_);
  const auto behind = lines_of(segments_, i, end, t_ns, limits_);
  const double by_drift_ns =
      2 * limits_.drift * pause_before_ns(i) + segments_[i - 1].room_ns + segments_[i].room_ns;
  const auto hidden_ns = before && behind ? before->hidden_step_ns(*behind, limits_) : std::nullopt;
  return std::min(hidden_ns.value_or(by_drift_ns), by_drift_ns);
}

// A pause that hides none joins what is known on its two sides, which says more of the next ones.
void Hideouts::find_hidden() {
  hidden_ns_.assign(segments_.size(), 0);
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (is_candidate(i)) {
      hidden_ns_[i] = std::numeric_limits<double>::infinity();
      left.push_back(i);
    }
  }
  for (std::size_t before = left.size() + 1; left.size() < before;) {
    before = left.size();
    // Both ways: what is known goes on through all of them in one round.
    for (const std::size_t i : left) {
      hidden_ns_[i] = most_hidden_ns(i);
    }
    std::for_each(left.rbegin(), left.rend(),
                  [this](std::size_t i) { hidden_ns_[i] = most_hidden_ns(i); });
    std::erase_if(left, [this](std::size_t i) { return hidden_ns_[i] < least_step_ns; });
  }
}

// In the pause before the segment.
void Hideouts::add_before(std::size_t i) {
  if (hidden_ns_[i] >= least_step_ns) {
    all_.push_back({i, ClockHideout::Place::before, segments_[i - 1].seen_until_ns(),
                    segments_[i].seen_from_ns(), hidden_ns_[i]});
  }
}

// In a pause that is too short to be one between segments; and at the ends of a run, where only
// collectives lie that leave much open.
void Hideouts::add_within(std::size_t i) {
  const ClockSegment& own = segments_[i];
  const bool ends_run = i + 1 == segments_.size() || segments_[i + 1].begins_run;
  const auto add = [&](ClockHideout::Place place, double from_ns, double until_ns, double by_ns) {
    if (from_ns < until_ns) {
      all_.push_back({i, place, from_ns, until_ns, by_ns});
    }
  };
  if (could_hide(own.longest_pause_ns)) {
    add(ClockHideout::Place::within, own.from_ns, own.until_ns,
        2 * limits_.drift * own.longest_pause_ns + own.room_ns);
  }
  if (own.begins_run) {
    add(ClockHideout::Place::at_end, own.from_ns, own.seen_from_ns(), own.room_before_ns);
  }
  if (ends_run) {
    add(ClockHideout::Place::at_end, own.seen_until_ns(), own.until_ns,
        own.has_close ? own.room_behind_ns : own.room_before_ns);
  }
}

void Hideouts::find() {
  find_hidden();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    add_before(i);
    add_within(i);
  }
}

}  // namespace

std::vector<ClockHideout> clock_hideouts(std::vector<ClockSegment>& segments,
                                         const ClockLimits& limits) {
  Hideouts hideouts(segments, limits);
  hideouts.find();
  return hideouts.take();
}

}  // namespace traceagent::tools
