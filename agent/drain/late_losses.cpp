#include "agent/drain/late_losses.hpp"

#include <algorithm>

namespace traceagent::drain {

using ring::DropCause;

namespace {

// Counted while windows are open.
constexpr DropCause device_causes[] = {DropCause::device_ring_full, DropCause::device_dropped,
                                       DropCause::device_untimed, DropCause::plan_ring_full};
// Counted by who writes files.
constexpr DropCause drain_causes[] = {DropCause::device_late, DropCause::not_written};

// The window as the ring holds it; null for one that is not the ring's.
ring::Window* window_in(const ring::Ring& ring, const ring::Window& window) noexcept {
  auto& windows = ring.header().windows;
  const auto found = std::find_if(windows.begin(), windows.end(),
                                  [&](const ring::Window& each) { return &each == &window; });
  return found != windows.end() ? &*found : nullptr;
}

std::atomic<std::uint64_t>& counter_of(const ring::Ring& ring, DropCause cause) noexcept {
  return ring.header().dropped[static_cast<std::size_t>(cause)];
}

std::uint64_t counted(const ring::Ring& ring, DropCause cause) noexcept {
  return counter_of(ring, cause).load(std::memory_order_relaxed);
}

std::uint64_t told(const ring::Ring& ring, DropCause cause) noexcept {
  return ring.header().told[static_cast<std::size_t>(cause)].load(std::memory_order_relaxed);
}

// Of a window whose file was written meanwhile: the next one tells of it.
void note_told_late(const ring::Ring& ring, ring::Window& window) noexcept {
  const std::uint64_t lost = window.device_full.load(std::memory_order_relaxed);
  const std::uint64_t of_file = window.device_full_told.load(std::memory_order_relaxed);
  const bool has_file = window.file_name.load(std::memory_order_relaxed) != 0;
  if (!has_file || of_file >= lost) return;
  ring.count_drop(DropCause::device_ring_full, lost - of_file);
  window.device_full_told.store(lost, std::memory_order_relaxed);
}

void raise_told(const ring::Ring& ring, DropCause cause, std::uint64_t until) noexcept {
  const std::uint64_t raised = std::max(told(ring, cause), until);
  ring.header().told[static_cast<std::size_t>(cause)].store(raised, std::memory_order_relaxed);
}

// Its file could not be written yet. Not an open one: the job writes into it.
bool is_waiting(const ring::Window& window) noexcept {
  const ring::WindowState state = window.state.load(std::memory_order_acquire);
  return state == ring::WindowState::closed || state == ring::WindowState::failed;
}

bool is_drains(DropCause cause) noexcept {
  return std::find(std::begin(drain_causes), std::end(drain_causes), cause) !=
         std::end(drain_causes);
}

bool began_before(const ring::Window& window, const ring::Window& other) noexcept {
  return window.begin_ticks.load(std::memory_order_relaxed) <
         other.begin_ticks.load(std::memory_order_relaxed);
}

// What had been lost when the next window began that has no file; so far, where there is none. An
// open one too: its begin does not change.
std::uint64_t lost_until_next(const ring::Ring& ring, const ring::Window& window,
                              DropCause cause) noexcept {
  std::uint64_t until = counted(ring, cause);
  for (const ring::Window& other : ring.header().windows) {
    const bool is_open = other.state.load(std::memory_order_acquire) == ring::WindowState::open;
    if (!(is_open || is_waiting(other)) || !began_before(window, other)) continue;
    until = std::min(until, other.dropped_at_begin[static_cast<std::size_t>(cause)]);
  }
  return until;
}

}  // namespace

std::uint64_t losses_told(const ring::Ring& ring, const ring::Window& window,
                          DropCause cause) noexcept {
  if (is_drains(cause)) return told(ring, cause);
  const auto i = static_cast<std::size_t>(cause);
  std::uint64_t before = window.dropped_at_begin[i];
  for (const ring::Window& other : ring.header().windows) {
    if (!is_waiting(other) || !began_before(other, window)) continue;
    before = std::min(before, other.dropped_at_begin[i]);
  }
  return std::max(before, told(ring, cause));
}

void settle_late_losses(const ring::Ring& ring, const ring::Window& window) noexcept {
  ring::Window* own = window_in(ring, window);
  if (own == nullptr) return;
  for (ring::Window& other : ring.header().windows) {
    if (other.state.load(std::memory_order_acquire) == ring::WindowState::written) {
      note_told_late(ring, other);
    }
  }
  own->device_full_told.store(own->device_full.load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
  // What is above was counted for a file that failed, or that its process was killed over.
  counter_of(ring, DropCause::device_late)
      .store(told(ring, DropCause::device_late), std::memory_order_relaxed);
  const auto settle = [&](DropCause cause) {
    const auto i = static_cast<std::size_t>(cause);
    own->dropped_at_begin[i] = losses_told(ring, *own, cause);
    own->dropped_at_end[i] = counted(ring, cause);
  };
  std::for_each(std::begin(device_causes), std::end(device_causes), settle);
  std::for_each(std::begin(drain_causes), std::end(drain_causes), settle);
}

void note_told(const ring::Ring& ring, const ring::Window& window) noexcept {
  if (window_in(ring, window) == nullptr) return;
  const auto note = [&](DropCause cause) {
    raise_told(ring, cause, window.dropped_at_end[static_cast<std::size_t>(cause)]);
  };
  std::for_each(std::begin(device_causes), std::end(device_causes), note);
  std::for_each(std::begin(drain_causes), std::end(drain_causes), note);
}

void note_all_told(const ring::Ring& ring, const ring::Window& window) noexcept {
  settle_late_losses(ring, window);
  note_told(ring, window);
}

namespace {

// Of what stands in the window: once or twice is the same.
void count_given_up(const ring::Ring& ring, ring::Window& window) noexcept {
  for (const DropCause cause : device_causes) {
    raise_told(ring, cause, window.dropped_at_end[static_cast<std::size_t>(cause)]);
  }
  const auto not_written = static_cast<std::size_t>(DropCause::not_written);
  const std::uint64_t before = counted(ring, DropCause::not_written);
  counter_of(ring, DropCause::not_written)
      .store(std::max(before, window.dropped_at_end[not_written]), std::memory_order_relaxed);
  note_last_correlation(ring, window, 0);
  window.state.store(ring::WindowState::written, std::memory_order_release);
}

}  // namespace

std::uint64_t give_up(const ring::Ring& ring, ring::Window& window, std::uint64_t events) noexcept {
  std::uint64_t lost = events + window.device_full.load(std::memory_order_relaxed);
  for (const DropCause cause : device_causes) {
    const std::uint64_t from = losses_told(ring, window, cause);
    const std::uint64_t until = lost_until_next(ring, window, cause);
    if (until > from) lost += until - from;
    window.dropped_at_end[static_cast<std::size_t>(cause)] = until > from ? until : 0;
  }
  window.dropped_at_end[static_cast<std::size_t>(DropCause::not_written)] =
      counted(ring, DropCause::not_written) + lost;
  window.state.store(ring::WindowState::giving_up, std::memory_order_release);
  count_given_up(ring, window);
  return lost;
}

void finish_giving_up(const ring::Ring& ring) noexcept {
  for (ring::Window& window : ring.header().windows) {
    const auto state = window.state.load(std::memory_order_acquire);
    if (state == ring::WindowState::giving_up) count_given_up(ring, window);
  }
}

std::uint64_t untold_events(const ring::Ring& ring) noexcept {
  const std::uint64_t given_up = counted(ring, DropCause::not_written);
  return given_up - std::min(given_up, told(ring, DropCause::not_written));
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

}  // namespace traceagent::drain
