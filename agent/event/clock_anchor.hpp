#pragma once
// Ticks to CLOCK_REALTIME nanoseconds, by anchors: pairs of both clocks read at one moment.

#include <cstddef>
#include <cstdint>
#include <span>

namespace traceagent::event {

struct ClockAnchor {
  std::uint64_t ticks;
  std::uint64_t realtime_ns;
  std::uint64_t error_ticks;  // half the width of the reading that enclosed realtime_ns
};

// Reads both clocks, the tightest of several tries (a preempted try is wide and loses). realtime_ns
// is 0 where the clock was refused.
ClockAnchor take_anchor() noexcept;

// How fast the ticks go.
struct TickRate {
  double ns_per_tick;
  double error = 0.001;  // as a part of it
};

// Of anchors sorted by ticks the neighbours of `ticks` between which CLOCK_REALTIME was not set
// (date -s, a VM resumed): times made of them alone never go back.
std::span<const ClockAnchor> anchors_of_one_clock(std::span<const ClockAnchor> anchors,
                                                  std::uint64_t ticks,
                                                  double nominal_ns_per_tick) noexcept;

// Linear between neighbouring anchors, and at the nominal rate between those that lie too near for
// one of their own, or between which the clock was set; beyond the first and the last one at the
// rate of the second next to it, in a shorter run at the nominal one. Nominal is the better one of
// `nominal` and the whole run's. `anchors` sorted by ticks.
class TickConverter {
 public:
  TickConverter(const ClockAnchor* anchors, std::size_t count, const TickRate& nominal) noexcept;
  std::int64_t realtime_ns(std::uint64_t ticks) const noexcept;
  // By how many nanoseconds a time within [from_ticks, to_ticks] may be off, as far as the anchors
  // tell: their largest reading error, and beyond the outermost what the rate's error makes of the
  // distance.
  double error_ns(std::uint64_t from_ticks, std::uint64_t to_ticks) const noexcept;

 private:
  // The nominal one where the two give none.
  TickRate rate_between(const ClockAnchor& a, const ClockAnchor& b) const noexcept;
  bool are_far(const ClockAnchor& a, const ClockAnchor& b) const noexcept;
  TickRate better_rate(const ClockAnchor& a, const ClockAnchor& b) const noexcept;

  const ClockAnchor* anchors_;
  std::size_t count_;
  TickRate nominal_;
  TickRate before_first_;
  TickRate beyond_last_;
};

// Once, as early as can be: what measure_tick_rate() measures from.
void note_load() noexcept;

// Spins for 200 µs to measure the tick rate, to 0.1 % (some tries more where it loses its core
// meanwhile; then the best of them), and the better the longer ago note_load() was. 0 ns per tick
// where the clocks are refused or contradict each other.
TickRate measure_tick_rate() noexcept;

}  // namespace traceagent::event
