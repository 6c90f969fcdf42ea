#include "agent/ring/device_drops.hpp"

#include <algorithm>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/ring/anchors.hpp"

namespace traceagent::ring {
namespace {

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

// One without a file was thrown away, or its losses are counted with it.
void count_for(const Ring& ring, Window& window, bool is_within) noexcept {
  if (is_unwritten(window)) {
    window.device_full.fetch_add(1, std::memory_order_relaxed);
  } else if (is_within && window.file_name.load(std::memory_order_relaxed) != 0) {
    ring.count_drop(DropCause::device_ring_full);
  }
}

}  // namespace

void DeviceDrops::learn() noexcept {
  // CUPTI may call back in a thread of the job, whose floats may trap.
  const event::UsualFloats usual_floats;
  is_learnt_ = true;
  Header& header = ring_.header();
  const CopiedAnchors copied = copy_anchors(header);
  if (copied.count == 0 || header.nominal_ns_per_tick <= 0) {
    earliest_ns_ = INT64_MAX;
    return;
  }
  const event::TickConverter clock(copied.anchors.data(), copied.count, nominal_rate(header));
  constexpr std::int64_t doubt_ns = 10'000'000;
  const std::int64_t since_ns = header.device.recording_since_ns.load(std::memory_order_relaxed);
  earliest_ns_ = since_ns == 0 ? INT64_MIN : since_ns - doubt_ns;
  latest_ns_ = clock.realtime_ns(event::read_ticks()) + doubt_ns;
  for (Window& window : header.windows) {
    if (window.state.load(std::memory_order_acquire) == WindowState::empty) continue;
    const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
    const std::uint64_t end_ticks = window.end_ticks.load(std::memory_order_relaxed);
    spans_[span_count_++] = {&window, begin_ticks, clock.realtime_ns(begin_ticks),
                             end_ticks == 0 ? INT64_MAX : clock.realtime_ns(end_ticks)};
  }
}

// The one that began last before it. Those that have their file keep their edges until their slot
// is used again. Null: none, or it is counted.
const DeviceDrops::Span* DeviceDrops::span_at(std::int64_t at_ns) noexcept {
  if (!is_learnt_) learn();
  if (at_ns < earliest_ns_ || at_ns > latest_ns_) {
    count_without_clock();
    return nullptr;
  }
  const Span* latest = nullptr;
  for (std::size_t i = 0; i < span_count_; ++i) {
    const Span& span = spans_[i];
    if (span.begin_ns > at_ns || (latest != nullptr && span.begin_ns < latest->begin_ns)) continue;
    latest = &span;
  }
  const bool is_still_there =
      latest != nullptr &&
      latest->window->begin_ticks.load(std::memory_order_relaxed) == latest->begin_ticks;
  return is_still_there ? latest : nullptr;
}

void DeviceDrops::count_without_clock() noexcept {
  if (has_unwritten_window(ring_)) ring_.count_drop(DropCause::device_ring_full);
}

void DeviceDrops::count_work(std::int64_t end_ns, std::uint32_t correlation) noexcept {
  const Span* const span = span_at(end_ns);
  if (span == nullptr) return;
  const bool is_within = end_ns < span->end_ns;
  if (!is_within && is_launched_after(*span->window, correlation)) return;
  count_for(ring_, *span->window, is_within);
}

void DeviceDrops::count_call(std::int64_t start_ns, std::uint32_t correlation) noexcept {
  const Span* const span = span_at(start_ns);
  if (span == nullptr) return;
  if (start_ns >= span->end_ns) return note_call_after(*span->window, correlation);
  count_for(ring_, *span->window, true);
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
