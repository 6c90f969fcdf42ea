#include "agent/ring/anchors.hpp"

#include <algorithm>

namespace traceagent::ring {
namespace {

constexpr std::uint32_t count_bits = 8;

// A damaged ring's number may be any.
std::size_t count_in(std::uint32_t state) noexcept {
  return std::min<std::size_t>(state & ((1u << count_bits) - 1), anchor_slots);
}

std::uint32_t changes_in(std::uint32_t state) noexcept { return state >> count_bits; }

// Release, and acquire below: who sees a word of a table that is used again sees that it was left
// before.
void store(event::ClockAnchor& place, const event::ClockAnchor& anchor) noexcept {
  std::atomic_ref(place.ticks).store(anchor.ticks, std::memory_order_release);
  std::atomic_ref(place.realtime_ns).store(anchor.realtime_ns, std::memory_order_release);
  std::atomic_ref(place.error_ticks).store(anchor.error_ticks, std::memory_order_release);
}

event::ClockAnchor load(event::ClockAnchor& place) noexcept {
  return {std::atomic_ref(place.ticks).load(std::memory_order_acquire),
          std::atomic_ref(place.realtime_ns).load(std::memory_order_acquire),
          std::atomic_ref(place.error_ticks).load(std::memory_order_acquire)};
}

}  // namespace

void add_anchor(Header& header, const event::ClockAnchor& anchor) noexcept {
  if (anchor.realtime_ns == 0) return;  // the clock was refused
  auto& [state, tables] = header.anchors;
  std::uint32_t changes = changes_in(state.load(std::memory_order_relaxed));
  std::size_t count = count_in(state.load(std::memory_order_relaxed));
  auto* table = &tables[changes % 2];
  if (count > 0 && anchor.ticks <= (*table)[count - 1].ticks) return;
  if (count == anchor_slots) {
    auto& thinned = tables[++changes % 2];
    count = anchor_slots / 2;
    for (std::size_t i = 0; i < count; ++i) store(thinned[i], (*table)[2 * i]);
    table = &thinned;
  }
  store((*table)[count], anchor);
  state.store(changes << count_bits | static_cast<std::uint32_t>(count + 1),
              std::memory_order_release);
}

event::TickRate nominal_rate(const Header& header) noexcept {
  event::TickRate rate{header.nominal_ns_per_tick};
  // Also of a damaged ring.
  if (header.nominal_rate_error > 0 && header.nominal_rate_error < 1) {
    rate.error = header.nominal_rate_error;
  }
  return rate;
}

std::span<const event::ClockAnchor> anchors_in(const Header& header) noexcept {
  const std::uint32_t state = header.anchors.state.load(std::memory_order_acquire);
  return {header.anchors.tables[changes_in(state) % 2].data(), count_in(state)};
}

CopiedAnchors copy_anchors(Header& header) noexcept {
  auto& [state, tables] = header.anchors;
  CopiedAnchors copy;
  std::uint32_t now = state.load(std::memory_order_acquire);
  std::uint32_t seen;
  // Again where the table was left meanwhile: it may be in use again. That is so once in 32
  // anchors.
  do {
    seen = now;
    copy.count = count_in(seen);
    auto& table = tables[changes_in(seen) % 2];
    for (std::size_t i = 0; i < copy.count; ++i) copy.anchors[i] = load(table[i]);
    now = state.load(std::memory_order_acquire);
  } while (changes_in(now) != changes_in(seen));
  return copy;
}

}  // namespace traceagent::ring
