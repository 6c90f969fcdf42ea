#include "agent/drain/window_edges.hpp"

#include <algorithm>

namespace traceagent::drain {

using ring::Window;
using ring::WindowState;

WindowEdges::WindowEdges(const ring::Ring& ring, const event::TickConverter& clock,
                         const Window& window)
    : begin_ticks_(window.begin_ticks.load(std::memory_order_relaxed)),
      end_ticks_(window.end_ticks.load(std::memory_order_relaxed)),
      begin_ns_(clock.realtime_ns(begin_ticks_)),
      end_ns_(clock.realtime_ns(end_ticks_)) {
  for (const Window& other : ring.header().windows) {
    // A startup window that was thrown away is empty, and its time nobody's.
    if (other.state.load(std::memory_order_acquire) == WindowState::empty) continue;
    const std::uint64_t begin = other.begin_ticks.load(std::memory_order_relaxed);
    const std::uint64_t end = other.end_ticks.load(std::memory_order_relaxed);
    if (&other == &window || begin >= begin_ticks_ || end <= begin) continue;
    earlier_.push_back({begin, end, clock.realtime_ns(begin), clock.realtime_ns(end)});
  }
}

When WindowEdges::of_moment(std::int64_t at_ns) const noexcept {
  if (at_ns >= end_ns_) return When::after;
  if (at_ns >= begin_ns_) return When::in_window;
  const bool is_held = std::any_of(earlier_.begin(), earlier_.end(), [at_ns](const Span& span) {
    return span.begin_ns <= at_ns && at_ns < span.end_ns;
  });
  return is_held ? When::in_earlier_window : When::before;
}

When WindowEdges::of_ticks(std::uint64_t ticks) const noexcept {
  if (ticks >= end_ticks_) return When::after;
  if (ticks >= begin_ticks_) return When::in_window;
  const bool is_held = std::any_of(earlier_.begin(), earlier_.end(), [ticks](const Span& span) {
    return span.begin_ticks <= ticks && ticks < span.end_ticks;
  });
  return is_held ? When::in_earlier_window : When::before;
}

bool WindowEdges::is_first_to_overlap(std::int64_t start_ns, std::int64_t end_ns) const noexcept {
  const auto overlaps = [&](std::int64_t from, std::int64_t to) {
    // What took no time lies where it begins.
    return start_ns < to && (end_ns > from || start_ns == from);
  };
  return overlaps(begin_ns_, end_ns_) &&
         std::none_of(earlier_.begin(), earlier_.end(),
                      [&](const Span& span) { return overlaps(span.begin_ns, span.end_ns); });
}

}  // namespace traceagent::drain
