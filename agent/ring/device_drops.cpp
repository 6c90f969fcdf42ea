#include "agent/ring/device_drops.hpp"

#include <algorithm>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/ring/anchors.hpp"

namespace traceagent::ring {
namespace {

// From now, which is near: each turn leaves a thousandth of what was wrong.
std::uint64_t ticks_at(std::int64_t realtime_ns, const event::TickConverter& clock,
                       double nominal_ns_per_tick) noexcept {
  constexpr int turns = 3;
  constexpr double last_ticks = 9e18;  // a damaged record's time may be any
  auto ticks = static_cast<double>(event::read_ticks());
  for (int i = 0; i < turns; ++i) {
    const std::int64_t guess_ns = clock.realtime_ns(static_cast<std::uint64_t>(ticks));
    const auto late_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(guess_ns) -
                                                   static_cast<std::uint64_t>(realtime_ns));
    ticks = std::clamp(ticks - static_cast<double>(late_ns) / nominal_ns_per_tick, 0.0, last_ticks);
  }
  return static_cast<std::uint64_t>(ticks);
}

// The one that began last before it. Those that have their file keep their edges until their slot
// is used again.
Window* window_at(const Ring& ring, std::uint64_t ticks) noexcept {
  Window* latest = nullptr;
  std::uint64_t latest_ticks = 0;
  for (Window& window : ring.header().windows) {
    if (window.state.load(std::memory_order_acquire) == WindowState::empty) continue;
    const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
    if (begin_ticks > ticks || (latest != nullptr && begin_ticks < latest_ticks)) continue;
    latest = &window;
    latest_ticks = begin_ticks;
  }
  return latest;
}

struct Lost {
  std::int64_t at_ns;
  std::uint32_t correlation;
  bool is_call;
};

bool is_older(std::uint32_t id, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(id - other) < 0;
}

// What it launches is of no window either.
void note_call_after(Window& window, std::uint32_t correlation) noexcept {
  const std::uint32_t known = window.id_after.load(std::memory_order_relaxed);
  if (known != 0 && !is_older(correlation, known)) return;
  window.id_after.store(correlation, std::memory_order_relaxed);
}

bool is_launched_after(const Window& window, std::uint32_t correlation) noexcept {
  const std::uint32_t id_after = window.id_after.load(std::memory_order_relaxed);
  return id_after != 0 && correlation != 0 && !is_older(correlation, id_after);
}

void count_at(const Ring& ring, std::uint64_t ticks, const Lost& lost) noexcept {
  Window* const window = window_at(ring, ticks);
  if (window == nullptr) return;
  const std::uint64_t end_ticks = window->end_ticks.load(std::memory_order_relaxed);
  const bool is_within = end_ticks == 0 || ticks < end_ticks;
  if (!is_within && lost.is_call) return note_call_after(*window, lost.correlation);
  if (!is_within && is_launched_after(*window, lost.correlation)) return;
  if (is_unwritten(*window)) {
    window->device_full.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // One without a file was thrown away, or its losses are counted with it.
  const bool has_file = window->file_name.load(std::memory_order_relaxed) != 0;
  if (is_within && has_file) ring.count_drop(DropCause::device_ring_full);
}

// Not inlined: its floats stay behind UsualFloats.
[[gnu::noinline]] void count_by_clock(const Ring& ring, const Lost& lost) noexcept {
  const double nominal_ns_per_tick = ring.header().nominal_ns_per_tick;
  const CopiedAnchors copied = copy_anchors(ring.header());
  if (copied.count == 0 || nominal_ns_per_tick <= 0) {
    if (has_unwritten_window(ring)) ring.count_drop(DropCause::device_ring_full);
    return;
  }
  const event::TickConverter clock(copied.anchors.data(), copied.count, nominal_ns_per_tick);
  count_at(ring, ticks_at(lost.at_ns, clock, nominal_ns_per_tick), lost);
}

}  // namespace

// CUPTI may call back in a thread of the job, whose floats may trap.
void count_full_of_work(const Ring& ring, std::int64_t end_ns, std::uint32_t correlation) noexcept {
  const event::UsualFloats usual_floats;
  count_by_clock(ring, {end_ns, correlation, false});
}

void count_full_of_call(const Ring& ring, std::int64_t start_ns,
                        std::uint32_t correlation) noexcept {
  const event::UsualFloats usual_floats;
  count_by_clock(ring, {start_ns, correlation, true});
}

namespace {

bool has_counted(const Ring& ring, DropCause cause) noexcept {
  const auto& dropped = ring.header().dropped[static_cast<std::size_t>(cause)];
  return dropped.load(std::memory_order_relaxed) != 0;
}

}  // namespace

bool has_lost_device_calls(const Ring& ring) noexcept {
  const auto& windows = ring.header().windows;
  return has_counted(ring, DropCause::device_ring_full) ||
         has_counted(ring, DropCause::device_dropped) ||
         std::any_of(windows.begin(), windows.end(), [](const Window& window) {
           return window.device_full.load(std::memory_order_relaxed) != 0;
         });
}

bool has_lost_device_records(const Ring& ring) noexcept {
  return has_lost_device_calls(ring) || has_counted(ring, DropCause::device_untimed);
}

}  // namespace traceagent::ring
