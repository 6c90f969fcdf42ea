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

// Of anchors sorted by ticks the neighbours of `ticks` between which CLOCK_REALTIME was not set
// (date -s, a VM resumed): times made of them alone never go back.
std::span<const ClockAnchor> anchors_of_one_clock(std::span<const ClockAnchor> anchors,
                                                  std::uint64_t ticks,
                                                  double nominal_ns_per_tick) noexcept;

// Piecewise linear between neighbouring anchors, extrapolated beyond the first and the last.
// `anchors` sorted by ticks; with one anchor the rate comes from `nominal_ns_per_tick`.
class TickConverter {
 public:
  TickConverter(const ClockAnchor* anchors, std::size_t count, double nominal_ns_per_tick) noexcept;
  std::int64_t realtime_ns(std::uint64_t ticks) const noexcept;
  // The largest reading error of the anchors used, in nanoseconds.
  double error_ns() const noexcept;

 private:
  const ClockAnchor* anchors_;
  std::size_t count_;
  double nominal_ns_per_tick_;
};

// Once, as early as can be: what measure_ns_per_tick() measures from.
void note_load() noexcept;

// Spins for 200 µs to measure the tick rate; nanoseconds per tick, to 0.1 % (some tries more where
// it loses its core meanwhile; then the best of them), and better by far some milliseconds after
// note_load(). The first estimate, until a second anchor exists. 0 where the clocks are refused or
// contradict each other.
double measure_ns_per_tick() noexcept;

}  // namespace traceagent::event
