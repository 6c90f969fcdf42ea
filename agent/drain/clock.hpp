#pragma once

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::drain {

inline event::TickConverter clock_of(const ring::Ring& ring) noexcept {
  const ring::Header& header = ring.header();
  const std::uint32_t count = header.anchor_count.load(std::memory_order_acquire);
  return {header.anchors.data(), count < ring::anchor_slots ? count : ring::anchor_slots,
          header.nominal_ns_per_tick};
}

// For a window's times: they are in order even where the clock was set.
inline event::TickConverter clock_of(const ring::Ring& ring, const ring::Window& window) noexcept {
  const ring::Header& header = ring.header();
  const std::uint32_t count = header.anchor_count.load(std::memory_order_acquire);
  const auto anchors = event::anchors_of_one_clock(
      {header.anchors.data(), count < ring::anchor_slots ? count : ring::anchor_slots},
      window.begin_ticks.load(std::memory_order_relaxed), header.nominal_ns_per_tick);
  return {anchors.data(), anchors.size(), header.nominal_ns_per_tick};
}

}  // namespace traceagent::drain
