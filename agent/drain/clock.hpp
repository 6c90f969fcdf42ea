#pragma once
// For the drain's thread, and of a process that is dead: see ring/anchors.hpp.

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::drain {

inline event::TickConverter clock_of(const ring::Ring& ring) noexcept {
  const auto anchors = ring::anchors_in(ring.header());
  return {anchors.data(), anchors.size(), ring::nominal_rate(ring.header())};
}

// For a window's times: they are in order even where the clock was set.
inline event::TickConverter clock_of(const ring::Ring& ring, const ring::Window& window) noexcept {
  const auto anchors = event::anchors_of_one_clock(
      ring::anchors_in(ring.header()), window.begin_ticks.load(std::memory_order_relaxed),
      ring.header().nominal_ns_per_tick);
  return {anchors.data(), anchors.size(), ring::nominal_rate(ring.header())};
}

}  // namespace traceagent::drain
