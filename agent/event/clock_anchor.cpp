#include "agent/event/clock_anchor.hpp"

#include <algorithm>
#include <cmath>

#include "agent/event/ticks.hpp"

namespace traceagent::event {
namespace {

// Below this distance the reading errors of two anchors spoil the slope between them.
constexpr double shortest_span_ns = 2'000'000.0;

double slope(const ClockAnchor& a, const ClockAnchor& b, double nominal) noexcept {
  const double span_ns = static_cast<double>(b.ticks - a.ticks) * nominal;
  if (b.ticks <= a.ticks || span_ns < shortest_span_ns) return nominal;
  // Subtracted as integers: nanoseconds since 1970 are 256 apart as doubles.
  const auto elapsed_ns = static_cast<std::int64_t>(b.realtime_ns - a.realtime_ns);
  const double measured = static_cast<double>(elapsed_ns) / static_cast<double>(b.ticks - a.ticks);
  // A clock that was set between the anchors (date -s, a VM resumed) is no rate: 1 % is far more
  // than NTP's slew of 500 ppm.
  if (measured < nominal * 0.99 || measured > nominal * 1.01) return nominal;
  return measured;
}

bool was_set_between(const ClockAnchor& a, const ClockAnchor& b, double nominal) noexcept {
  if (b.ticks <= a.ticks) return false;
  const double span_ns = static_cast<double>(b.ticks - a.ticks) * nominal;
  const auto elapsed_ns = static_cast<std::int64_t>(b.realtime_ns - a.realtime_ns);
  const double off_ns = std::abs(static_cast<double>(elapsed_ns) - span_ns);
  // What slope() takes for no rate. Too near for a rate, it is more than the reading's error.
  constexpr double set_at_least_ns = 1'000'000.0;
  return off_ns > (span_ns < shortest_span_ns ? set_at_least_ns : span_ns * 0.01);
}

// A damaged ring's ticks and anchors may be any numbers: the times made of them stay so small that
// no difference of two overflows.
constexpr std::uint64_t last_realtime_ns = 4'000'000'000'000'000'000;  // in 2096
constexpr std::int64_t farthest_ns = 500'000'000'000'000'000;          // 16 years from its anchor

std::int64_t bounded(double distance_ns) noexcept {
  constexpr auto farthest = static_cast<double>(farthest_ns);
  if (!(distance_ns > -farthest)) return -farthest_ns;  // and for what is no number
  return distance_ns < farthest ? static_cast<std::int64_t>(distance_ns) : farthest_ns;
}

// A rate that is off by slope()'s 1 % makes every later one look like a clock that was set: a
// thread that loses its core between the readings of the two clocks, once in some thousand starts
// on a busy machine, must not give one.
constexpr double good_rate_error = 0.001;
constexpr int most_rate_attempts = 8;

// Both clocks at one moment, the tightest of several tries.
ClockAnchor read_both(clockid_t clock) noexcept {
  ClockAnchor best{0, 0, UINT64_MAX};
  for (int attempt = 0; attempt < 16; ++attempt) {
    timespec time{};
    const std::uint64_t before = read_ticks();
    if (clock_gettime(clock, &time) != 0) continue;
    const std::uint64_t after = read_ticks();
    const std::uint64_t now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
                              static_cast<std::uint64_t>(time.tv_nsec);
    const std::uint64_t half_width = (after - before) / 2;
    if (half_width < best.error_ticks) best = {before + half_width, now, half_width};
  }
  return best;
}

double rate_between(const ClockAnchor& start, const ClockAnchor& end) noexcept {
  return static_cast<double>(end.realtime_ns - start.realtime_ns) /
         static_cast<double>(end.ticks - start.ticks);
}

// When the library was loaded, of the clock that has CLOCK_REALTIME's rate and is never set.
constinit ClockAnchor at_load{};

// A job's first call comes milliseconds to minutes later: measured over that time the rate is off
// by 20 millionths at most, where 200 µs give ten times as much. It must last a process whose drain
// thread gets no core, or waits for a lock of the job's, until it is killed. A machine that slept
// meanwhile shows a rate that the short measurement contradicts.
double refined_by_load(double measured) noexcept {
  constexpr std::uint64_t least_ns = 2'000'000;
  const ClockAnchor now = read_both(CLOCK_MONOTONIC);
  if (at_load.realtime_ns == 0 || at_load.ticks >= now.ticks) return measured;
  if (now.realtime_ns < at_load.realtime_ns + least_ns) return measured;
  const double since_load = rate_between(at_load, now);
  return std::abs(since_load - measured) <= measured * good_rate_error ? since_load : measured;
}

void wait_ns(std::uint64_t least_ns) noexcept {
  const std::uint64_t start_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  while (clock_ns(CLOCK_MONOTONIC_RAW) - start_ns < least_ns) continue;
}

}  // namespace

ClockAnchor take_anchor() noexcept { return read_both(CLOCK_REALTIME); }

void note_load() noexcept { at_load = read_both(CLOCK_MONOTONIC); }

double measure_ns_per_tick() noexcept {
  if (!ticks_from_tsc) return 1.0;
  double best_rate = 0;
  double least_error = 1;
  for (int attempt = 0; attempt < most_rate_attempts && least_error > good_rate_error; ++attempt) {
    const ClockAnchor start = read_both(CLOCK_MONOTONIC_RAW);
    wait_ns(200'000);
    const ClockAnchor end = read_both(CLOCK_MONOTONIC_RAW);
    if (start.realtime_ns == 0 || end.realtime_ns <= start.realtime_ns || end.ticks <= start.ticks)
      continue;
    const auto span_ticks = static_cast<double>(end.ticks - start.ticks);
    const double error = static_cast<double>(start.error_ticks + end.error_ticks) / span_ticks;
    if (error >= least_error) continue;
    least_error = error;
    best_rate = rate_between(start, end);
  }
  // From 100 GHz down to 1 MHz: else a clock was refused or set in between.
  return best_rate > 0.01 && best_rate < 1000 ? refined_by_load(best_rate) : 0;
}

std::span<const ClockAnchor> anchors_of_one_clock(std::span<const ClockAnchor> anchors,
                                                  std::uint64_t ticks,
                                                  double nominal_ns_per_tick) noexcept {
  std::size_t first = 0;
  std::size_t next = 1;
  for (; next < anchors.size(); ++next) {
    if (!was_set_between(anchors[next - 1], anchors[next], nominal_ns_per_tick)) continue;
    if (anchors[next].ticks > ticks) break;
    first = next;
  }
  return anchors.empty() ? anchors : anchors.subspan(first, next - first);
}

TickConverter::TickConverter(const ClockAnchor* anchors, std::size_t count,
                             double nominal_ns_per_tick) noexcept
    : anchors_(anchors), count_(count), nominal_ns_per_tick_(nominal_ns_per_tick) {
  // The whole run gives a better nominal rate than the short measurement at its start.
  if (count_ >= 2)
    nominal_ns_per_tick_ = slope(anchors_[0], anchors_[count_ - 1], nominal_ns_per_tick_);
}

std::int64_t TickConverter::realtime_ns(std::uint64_t ticks) const noexcept {
  if (count_ == 0) return 0;
  const ClockAnchor* after = std::upper_bound(
      anchors_, anchors_ + count_, ticks,
      [](std::uint64_t value, const ClockAnchor& anchor) { return value < anchor.ticks; });
  const ClockAnchor& from = after == anchors_ ? anchors_[0] : after[-1];
  double rate = nominal_ns_per_tick_;
  if (count_ >= 2) {
    const ClockAnchor* last = anchors_ + count_ - 1;
    const ClockAnchor* left = std::min(&from, last - 1);
    rate = slope(left[0], left[1], nominal_ns_per_tick_);
  }
  const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - from.ticks));
  const std::uint64_t realtime_ns = std::min(from.realtime_ns, last_realtime_ns);
  return static_cast<std::int64_t>(realtime_ns) + bounded(distance * rate);
}

double TickConverter::error_ns() const noexcept {
  std::uint64_t widest = 0;
  for (std::size_t i = 0; i < count_; ++i) widest = std::max(widest, anchors_[i].error_ticks);
  return static_cast<double>(widest) * nominal_ns_per_tick_;
}

}  // namespace traceagent::event
