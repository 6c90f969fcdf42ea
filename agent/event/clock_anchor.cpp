#include "agent/event/clock_anchor.hpp"

#include <algorithm>
#include <cmath>

#include "agent/event/ticks.hpp"

namespace traceagent::event {
namespace {

// Below this distance the reading errors of two anchors spoil the slope between them.
constexpr double shortest_span_ns = 500'000.0;

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
  return off_ns > (span_ns < shortest_span_ns ? 2 * shortest_span_ns : span_ns * 0.01);
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

}  // namespace

ClockAnchor take_anchor() noexcept {
  ClockAnchor best{0, 0, UINT64_MAX};
  for (int attempt = 0; attempt < 16; ++attempt) {
    timespec time{};
    const std::uint64_t before = read_ticks();
    if (clock_gettime(CLOCK_REALTIME, &time) != 0) continue;
    const std::uint64_t after = read_ticks();
    const std::uint64_t now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
                              static_cast<std::uint64_t>(time.tv_nsec);
    const std::uint64_t half_width = (after - before) / 2;
    if (half_width < best.error_ticks) best = {before + half_width, now, half_width};
  }
  return best;
}

double measure_ns_per_tick() noexcept {
  if (!ticks_from_tsc) return 1.0;
  const std::uint64_t start_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  const std::uint64_t start = read_ticks();
  std::uint64_t now_ns = start_ns;
  while (now_ns - start_ns < 200'000) now_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  const std::uint64_t end = read_ticks();
  const double rate = static_cast<double>(now_ns - start_ns) /
                      static_cast<double>(std::max<std::uint64_t>(end - start, 1));
  // From 100 GHz down to 1 MHz: else a clock was refused or set in between.
  return rate > 0.01 && rate < 1000 ? rate : 0;
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
