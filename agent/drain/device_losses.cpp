#include "agent/drain/device_losses.hpp"

#include <algorithm>

namespace traceagent::drain {

using ring::DropCause;

namespace {

constexpr DropCause told_late[] = {DropCause::device_ring_full, DropCause::device_dropped,
                                   DropCause::device_late, DropCause::plan_ring_full};

// The window as the ring holds it; null for one that is not the ring's.
ring::Window* window_in(const ring::Ring& ring, const ring::Window& window) noexcept {
  auto& windows = ring.header().windows;
  const auto found = std::find_if(windows.begin(), windows.end(),
                                  [&](const ring::Window& each) { return &each == &window; });
  return found != windows.end() ? &*found : nullptr;
}

}  // namespace

std::uint64_t device_losses_told(const ring::Ring& ring, const ring::Window& window,
                                 DropCause cause) noexcept {
  const auto i = static_cast<std::size_t>(cause);
  std::uint64_t told = window.dropped_at_begin[i];
  for (const ring::Window& other : ring.header().windows) {
    if (other.state.load(std::memory_order_acquire) != ring::WindowState::written) continue;
    told = std::max(told, other.dropped_at_end[i]);
  }
  return told;
}

void settle_device_losses(const ring::Ring& ring, const ring::Window& window) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  for (const DropCause cause : told_late) {
    const auto i = static_cast<std::size_t>(cause);
    own->dropped_at_begin[i] = device_losses_told(ring, *own, cause);
    own->dropped_at_end[i] = ring.header().dropped[i].load(std::memory_order_relaxed);
  }
}

std::uint32_t correlation_told(const ring::Ring& ring, const ring::Window& window) noexcept {
  const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
  std::uint32_t told = 0;
  for (const ring::Window& other : ring.header().windows) {
    if (other.state.load(std::memory_order_acquire) != ring::WindowState::written) continue;
    if (other.begin_ticks.load(std::memory_order_relaxed) >= begin_ticks) continue;
    const std::uint32_t last =
        ring::last_correlation_of(ring, other).load(std::memory_order_relaxed);
    if (last != 0 && (told == 0 || is_older(told, last))) told = last;
  }
  return told;
}

void note_last_correlation(const ring::Ring& ring, const ring::Window& window,
                           std::uint32_t last) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  ring::last_correlation_of(ring, *own).store(last, std::memory_order_relaxed);
}

void count_late(const ring::Ring& ring, const ring::Window& window, std::uint64_t late) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr || late == 0) return;
  ring.count_drop(DropCause::device_late, late);
  own->dropped_at_end[static_cast<std::size_t>(DropCause::device_late)] += late;
}

void forget_device_losses(const ring::Ring& ring, const ring::Window& window) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  for (const DropCause cause : told_late) {
    const auto i = static_cast<std::size_t>(cause);
    own->dropped_at_end[i] = own->dropped_at_begin[i];
  }
  ring::last_correlation_of(ring, *own).store(0, std::memory_order_relaxed);
}

}  // namespace traceagent::drain
