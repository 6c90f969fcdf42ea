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

}  // namespace traceagent::drain
