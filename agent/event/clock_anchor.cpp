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

// What measure_tick_rate() promises. A rate that is off by slope()'s 1 % makes every later one look
// like a clock that was set: a thread that loses its core between the readings of the two clocks,
// once in some thousand starts on a busy machine, must not give one.
constexpr double good_rate_error = TickRate{}.error;
constexpr int most_rate_attempts = 8;

// The kernel steers the clocks: a rate that was measured better than this changes meanwhile, and
// that of the time before the first anchor may have changed more.
constexpr double least_rate_error = 1e-6;
constexpr double least_nominal_error = 1e-5;

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

// When the library was loaded, of the clock that has CLOCK_REALTIME's rate and is never set.
constinit ClockAnchor at_load{};

// 0 ns per tick: none.
TickRate measured_between(const ClockAnchor& start, const ClockAnchor& end) noexcept {
  if (start.realtime_ns == 0 || end.realtime_ns <= start.realtime_ns || end.ticks <= start.ticks)
    return {0, 1};
  const auto span_ticks = static_cast<double>(end.ticks - start.ticks);
  return {static_cast<double>(end.realtime_ns - start.realtime_ns) / span_ticks,
          static_cast<double>(start.error_ticks + end.error_ticks) / span_ticks};
}

// A job's first call comes milliseconds to minutes later: the longer, the less the readings weigh,
// which after 200 µs make 50 to 200 millionths. It must last a process whose drain thread gets no
// core, or waits for a lock of the job's, until it is killed. A machine that slept meanwhile shows
// a rate that the short measurement contradicts.
TickRate refined_by_load(const TickRate& measured) noexcept {
  const TickRate since_load = measured_between(at_load, read_both(CLOCK_MONOTONIC));
  const double off = std::abs(since_load.ns_per_tick - measured.ns_per_tick);
  const bool is_better =
      since_load.error < measured.error && off <= measured.ns_per_tick * good_rate_error;
  // CLOCK_MONOTONIC_RAW, by which that was measured, is not steered as the others are.
  return is_better ? since_load : TickRate{measured.ns_per_tick, measured.error + good_rate_error};
}

void wait_ns(std::uint64_t least_ns) noexcept {
  const std::uint64_t start_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  while (clock_ns(CLOCK_MONOTONIC_RAW) - start_ns < least_ns) continue;
}

}  // namespace

ClockAnchor take_anchor() noexcept { return read_both(CLOCK_REALTIME); }

void note_load() noexcept { at_load = read_both(CLOCK_MONOTONIC); }

TickRate measure_tick_rate() noexcept {
  if (!ticks_from_tsc) return {1};
  TickRate best{0, 1};
  for (int attempt = 0; attempt < most_rate_attempts && best.error > good_rate_error; ++attempt) {
    const ClockAnchor start = read_both(CLOCK_MONOTONIC_RAW);
    wait_ns(200'000);
    const TickRate rate = measured_between(start, read_both(CLOCK_MONOTONIC_RAW));
    if (rate.error < best.error) best = rate;
  }
  // From 100 GHz down to 1 MHz: else a clock was refused or set in between.
  return best.ns_per_tick > 0.01 && best.ns_per_tick < 1000 ? refined_by_load(best)
                                                            : TickRate{0, 1};
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
                             const TickRate& nominal) noexcept
    : anchors_(anchors), count_(count), nominal_(nominal) {
  nominal_.error = std::max(nominal_.error, least_nominal_error);
  before_first_ = beyond_last_ = nominal_;
  if (count_ < 2) return;
  const std::span all(anchors_, count_);
  const auto of_one_clock = [&](const ClockAnchor& anchor) {
    return anchors_of_one_clock(all, anchor.ticks, nominal_.ns_per_tick);
  };
  const auto first_ones = of_one_clock(all.front());
  const auto last_ones = of_one_clock(all.back());
  if (first_ones.size() == count_) nominal_ = better_rate(all.front(), all.back());
  std::size_t second = 0;
  while (second + 1 < first_ones.size() && !are_far(first_ones[0], first_ones[second])) ++second;
  before_first_ = better_rate(first_ones[0], first_ones[second]);
  std::size_t before_last = last_ones.size() - 1;
  while (before_last > 0 && !are_far(last_ones[before_last], last_ones.back())) --before_last;
  beyond_last_ = better_rate(last_ones[before_last], last_ones.back());
}

bool TickConverter::are_far(const ClockAnchor& a, const ClockAnchor& b) const noexcept {
  return span_ns(a, b, nominal_.ns_per_tick) >= extrapolated_span_ns;
}

// Of anchors that lie far from each other it is theirs: the clock as it is steered now.
TickRate TickConverter::better_rate(const ClockAnchor& a, const ClockAnchor& b) const noexcept {
  const TickRate measured = rate_between(a, b);
  return are_far(a, b) || measured.error <= nominal_.error ? measured : nominal_;
}

TickRate TickConverter::rate_between(const ClockAnchor& a, const ClockAnchor& b) const noexcept {
  const double measured = slope(a, b, nominal_.ns_per_tick);
  if (measured == 0) return nominal_;
  const double readings =
      (static_cast<double>(a.error_ticks) + static_cast<double>(b.error_ticks)) /
      static_cast<double>(b.ticks - a.ticks);
  return {measured, std::max(readings, least_rate_error)};
}

std::int64_t TickConverter::realtime_ns(std::uint64_t ticks) const noexcept {
  if (count_ == 0) return 0;
  const ClockAnchor* const end = anchors_ + count_;
  const ClockAnchor* after = std::upper_bound(
      anchors_, end, ticks,
      [](std::uint64_t value, const ClockAnchor& anchor) { return value < anchor.ticks; });
  const ClockAnchor& from = after == anchors_ ? anchors_[0] : after[-1];
  TickRate rate = before_first_;
  std::uint64_t latest_ns = UINT64_MAX;
  if (after == end) {
    rate = beyond_last_;
  } else if (after != anchors_) {
    rate = rate_between(from, *after);
    // The next one's reading may be earlier than the rate makes it.
    if (after->realtime_ns >= from.realtime_ns &&
        !was_set_between(from, *after, nominal_.ns_per_tick)) {
      latest_ns = after->realtime_ns;
    }
  }
  const auto distance = static_cast<double>(static_cast<std::int64_t>(ticks - from.ticks));
  const std::uint64_t realtime_ns = std::min(from.realtime_ns, last_realtime_ns);
  const std::int64_t converted =
      static_cast<std::int64_t>(realtime_ns) + bounded(distance * rate.ns_per_tick);
  return std::min(converted, static_cast<std::int64_t>(std::min(latest_ns, last_realtime_ns)));
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
