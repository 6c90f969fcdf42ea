#include "agent/event/clock_anchor.hpp"

#include <algorithm>
#include <cmath>

#include "agent/event/ticks.hpp"

namespace traceagent::event {
namespace {

// Below this distance the reading errors of two anchors spoil the slope between them.
constexpr double shortest_span_ns = 2'000'000.0;

// Beyond the outermost anchor times go on at the rate of so long a part of the run: of two anchors
// that lie near, their reading errors would grow with the distance.
constexpr double extrapolated_span_ns = 1'000'000'000.0;

// What measure_ns_per_tick() promises.
constexpr double good_rate_error = 0.001;

double span_ns(const ClockAnchor& a, const ClockAnchor& b, double ns_per_tick) noexcept {
  return b.ticks <= a.ticks ? 0.0 : static_cast<double>(b.ticks - a.ticks) * ns_per_tick;
}

// 0 where the two give none.
double slope(const ClockAnchor& a, const ClockAnchor& b, double nominal) noexcept {
  if (!(span_ns(a, b, nominal) >= shortest_span_ns)) return 0;
  // Subtracted as integers: nanoseconds since 1970 are 256 apart as doubles.
  const auto elapsed_ns = static_cast<std::int64_t>(b.realtime_ns - a.realtime_ns);
  const double measured = static_cast<double>(elapsed_ns) / static_cast<double>(b.ticks - a.ticks);
  // A clock that was set between the anchors (date -s, a VM resumed) is no rate: 1 % is far more
  // than NTP's slew of 500 ppm.
  return measured < nominal * 0.99 || measured > nominal * 1.01 ? 0 : measured;
}

bool was_set_between(const ClockAnchor& a, const ClockAnchor& b, double nominal) noexcept {
  if (b.ticks <= a.ticks) return false;
  const double span = span_ns(a, b, nominal);
  const auto elapsed_ns = static_cast<std::int64_t>(b.realtime_ns - a.realtime_ns);
  const double off_ns = std::abs(static_cast<double>(elapsed_ns) - span);
  // What slope() takes for no rate. Too near for a rate, it is more than the reading's error.
  constexpr double set_at_least_ns = 1'000'000.0;
  return off_ns > (span < shortest_span_ns ? set_at_least_ns : span * 0.01);
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

struct MeasuredRate {
  double ns_per_tick;  // 0: none
  double error;        // of the readings, as a part of it
};

MeasuredRate measured_between(const ClockAnchor& start, const ClockAnchor& end) noexcept {
  if (start.realtime_ns == 0 || end.realtime_ns <= start.realtime_ns || end.ticks <= start.ticks)
    return {0, 1};
  const auto span_ticks = static_cast<double>(end.ticks - start.ticks);
  return {rate_between(start, end),
          static_cast<double>(start.error_ticks + end.error_ticks) / span_ticks};
}

// A job's first call comes milliseconds to minutes later: the longer, the less the readings weigh,
// which after 200 µs make 50 to 200 millionths. It must last a process whose drain thread gets no
// core, or waits for a lock of the job's, until it is killed. A machine that slept meanwhile shows
// a rate that the short measurement contradicts.
double refined_by_load(const MeasuredRate& measured) noexcept {
  const MeasuredRate since_load = measured_between(at_load, read_both(CLOCK_MONOTONIC));
  const double off = std::abs(since_load.ns_per_tick - measured.ns_per_tick);
  const bool is_better =
      since_load.error < measured.error && off <= measured.ns_per_tick * good_rate_error;
  return is_better ? since_load.ns_per_tick : measured.ns_per_tick;
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
  MeasuredRate best{0, 1};
  for (int attempt = 0; attempt < most_rate_attempts && best.error > good_rate_error; ++attempt) {
    const ClockAnchor start = read_both(CLOCK_MONOTONIC_RAW);
    wait_ns(200'000);
    const MeasuredRate rate = measured_between(start, read_both(CLOCK_MONOTONIC_RAW));
    if (rate.error < best.error) best = rate;
  }
  // From 100 GHz down to 1 MHz: else a clock was refused or set in between.
  return best.ns_per_tick > 0.01 && best.ns_per_tick < 1000 ? refined_by_load(best) : 0;
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
    : anchors_(anchors), count_(count), nominal_{nominal_ns_per_tick, good_rate_error} {
  if (count_ >= 2) {
    // The whole run gives a better nominal rate than the short measurement at its start.
    nominal_ = rate_between(anchors_[0], anchors_[count_ - 1]);
  }
  before_first_ = beyond_last_ = nominal_;
  const auto is_far = [this](const ClockAnchor& a, const ClockAnchor& b) {
    return span_ns(a, b, nominal_.ns_per_tick) >= extrapolated_span_ns;
  };
  for (std::size_t i = 1; i < count_; ++i) {
    if (!is_far(anchors_[0], anchors_[i])) continue;
    before_first_ = rate_between(anchors_[0], anchors_[i]);
    break;
  }
  for (std::size_t i = count_; i-- > 1;) {
    if (!is_far(anchors_[i - 1], anchors_[count_ - 1])) continue;
    beyond_last_ = rate_between(anchors_[i - 1], anchors_[count_ - 1]);
    break;
  }
}

TickConverter::Rate TickConverter::rate_between(const ClockAnchor& a,
                                                const ClockAnchor& b) const noexcept {
  const double measured = slope(a, b, nominal_.ns_per_tick);
  if (measured == 0) return nominal_;
  return {measured, (static_cast<double>(a.error_ticks) + static_cast<double>(b.error_ticks)) /
                        static_cast<double>(b.ticks - a.ticks)};
}

std::int64_t TickConverter::realtime_ns(std::uint64_t ticks) const noexcept {
  if (count_ == 0) return 0;
  const ClockAnchor* const end = anchors_ + count_;
  const ClockAnchor* after = std::upper_bound(
      anchors_, end, ticks,
      [](std::uint64_t value, const ClockAnchor& anchor) { return value < anchor.ticks; });
  const ClockAnchor& from = after == anchors_ ? anchors_[0] : after[-1];
  Rate rate = before_first_;
  if (after == end) {
    rate = beyond_last_;
  } else if (after != anchors_) {
    rate = rate_between(from, *after);
  }
  const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - from.ticks));
  const std::uint64_t realtime_ns = std::min(from.realtime_ns, last_realtime_ns);
  return static_cast<std::int64_t>(realtime_ns) + bounded(distance * rate.ns_per_tick);
}

double TickConverter::error_ns(std::uint64_t from_ticks, std::uint64_t to_ticks) const noexcept {
  if (count_ == 0) return 0;
  std::uint64_t widest = 0;
  for (std::size_t i = 0; i < count_; ++i) widest = std::max(widest, anchors_[i].error_ticks);
  const double before = span_ns({from_ticks, 0, 0}, anchors_[0], before_first_.ns_per_tick);
  const double beyond = span_ns(anchors_[count_ - 1], {to_ticks, 0, 0}, beyond_last_.ns_per_tick);
  return static_cast<double>(widest) * nominal_.ns_per_tick +
         std::max(before * before_first_.error, beyond * beyond_last_.error);
}

}  // namespace traceagent::event
