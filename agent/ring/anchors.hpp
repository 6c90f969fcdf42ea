#pragma once
// The clock's anchors in the ring. One thread adds them, the drain's; others read them at any time.

#include <array>
#include <cstddef>
#include <span>

#include "agent/ring/layout.hpp"

namespace traceagent::ring {

// When the table is full every second one is thinned out.
void add_anchor(Header& header, const event::ClockAnchor& anchor) noexcept;

// The rate of the ring's start.
event::TickRate nominal_rate(const Header& header) noexcept;

// In order. For the thread that adds them, and for a ring whose process is dead.
std::span<const event::ClockAnchor> anchors_in(const Header& header) noexcept;

// For any other thread: of one moment.
struct CopiedAnchors {
  std::array<event::ClockAnchor, anchor_slots> anchors;
  std::size_t count;
};
CopiedAnchors copy_anchors(Header& header) noexcept;

}  // namespace traceagent::ring
