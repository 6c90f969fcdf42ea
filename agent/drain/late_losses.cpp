#include "agent/drain/late_losses.hpp"

#include <algorithm>

namespace traceagent::drain {

using ring::DropCause;

namespace {

constexpr DropCause told_late[] = {DropCause::device_ring_full, DropCause::device_dropped,
                                   DropCause::device_late, DropCause::plan_ring_full,
                                   DropCause::not_written};

// The window as the ring holds it; null for one that is not the ring's.
ring::Window* window_in(const ring::Ring& ring, const ring::Window& window) noexcept {
  auto& windows = ring.header().windows;
  const auto found = std::find_if(windows.begin(), windows.end(),
                                  [&](const ring::Window& each) { return &each == &window; });
  return found != windows.end() ? &*found : nullptr;
}

std::uint64_t counted(const ring::Ring& ring, DropCause cause) noexcept {
  return ring.header().dropped[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
}

std::uint64_t told_by_files(const ring::Ring& ring, DropCause cause) noexcept {
  const auto i = static_cast<std::size_t>(cause);
  std::uint64_t told = 0;
  for (const ring::Window& window : ring.header().windows) {
    if (window.state.load(std::memory_order_acquire) != ring::WindowState::written) continue;
    told = std::max(told, window.dropped_at_end[i]);
  }
  return told;
}

}  // namespace

std::uint64_t losses_told(const ring::Ring& ring, const ring::Window& window,
                          DropCause cause) noexcept {
  const std::uint64_t told = told_by_files(ring, cause);
  // What was given up before this window began is of earlier ones.
  if (cause == DropCause::not_written) return told;
  return std::max(told, window.dropped_at_begin[static_cast<std::size_t>(cause)]);
}

void settle_late_losses(const ring::Ring& ring, const ring::Window& window) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  for (const DropCause cause : told_late) {
    const auto i = static_cast<std::size_t>(cause);
    own->dropped_at_begin[i] = losses_told(ring, *own, cause);
    own->dropped_at_end[i] = counted(ring, cause);
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

void forget_late_losses(const ring::Ring& ring, const ring::Window& window) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  for (const DropCause cause : told_late) {
    const auto i = static_cast<std::size_t>(cause);
    own->dropped_at_begin[i] = own->dropped_at_end[i] = losses_told(ring, *own, cause);
  }
  ring::last_correlation_of(ring, *own).store(0, std::memory_order_relaxed);
}

void note_all_told(const ring::Ring& ring, ring::Window& window) noexcept {
  for (const DropCause cause : told_late) {
    window.dropped_at_end[static_cast<std::size_t>(cause)] = counted(ring, cause);
  }
}

std::uint64_t untold_events(const ring::Ring& ring) noexcept {
  const std::uint64_t given_up = counted(ring, DropCause::not_written);
  return given_up - std::min(given_up, told_by_files(ring, DropCause::not_written));
}

}  // namespace traceagent::drain
