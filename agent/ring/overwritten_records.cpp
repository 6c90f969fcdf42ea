#include "agent/ring/overwritten_records.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/ring/anchors.hpp"

namespace traceagent::ring {
namespace {

// What arrived later than it was: its times stand in args[0] and args[1].
bool is_told_of_device(event::Layout layout) noexcept {
  return layout == event::Layout::device_work || layout == event::Layout::api_call ||
         layout == event::Layout::timed_by_event;
}

// Windows that have no file yet, the one that began last first, and how many of their records go.
class WantingWindows {
 public:
  explicit WantingWindows(const Ring& ring) noexcept {
    // The drain adds some meanwhile.
    const CopiedAnchors copied = copy_anchors(ring.header());
    const event::TickConverter clock(copied.anchors.data(), copied.count,
                                     nominal_rate(ring.header()));
    // By their begins as they are seen once: the job moves them meanwhile, and a sort needs one
    // order.
    for (Window& window : ring.header().windows) {
      if (!is_unwritten(window)) continue;
      const std::uint64_t from = window.begin_ticks.load(std::memory_order_relaxed);
      each_[count_++] = {from, clock.realtime_ns(from), &window, 0};
    }
    std::sort(begin(), end(), [](const Wanting& a, const Wanting& b) { return a.from > b.from; });
  }

  void count(const event::Record& record) noexcept {
    const std::uint64_t ticks = record.begin_ticks.load(std::memory_order_relaxed);
    if (ticks == 0) return;
    Wanting* const of = std::find_if(
        begin(), end(), [&](const Wanting& each) { return is_of(each, record, ticks); });
    if (of != end()) ++of->lost;
  }

  // How many there were in all.
  std::uint64_t charge() noexcept {
    std::uint64_t lost = 0;
    for (const Wanting& each : std::span(begin(), end())) {
      if (each.lost == 0) continue;
      each.window->overwritten.fetch_add(each.lost, std::memory_order_relaxed);
      lost += each.lost;
    }
    return lost;
  }

 private:
  struct Wanting {
    std::uint64_t from;
    std::int64_t from_ns;
    Window* window;
    std::uint64_t lost;
  };

  static bool is_of(const Wanting& each, const event::Record& record,
                    std::uint64_t ticks) noexcept {
    // The device may be at a window's work when that is over, and is before it begins the next
    // one's.
    if (is_told_of_device(record.layout)) {
      return static_cast<std::int64_t>(record.args[0]) >= each.from_ns;
    }
    if (ticks < each.from) return false;
    if (!event::is_host_call(record.layout)) return true;
    const std::uint64_t end = each.window->end_ticks.load(std::memory_order_relaxed);
    return end == 0 || ticks < end;
  }

  Wanting* begin() noexcept { return each_.data(); }
  Wanting* end() noexcept { return each_.data() + count_; }

  std::array<Wanting, window_slots> each_;
  std::size_t count_ = 0;
};

// Not inlined: its floats stay behind UsualFloats.
[[gnu::noinline]] std::uint64_t charge_windows(const Ring& ring, const Chunk& chunk) noexcept {
  WantingWindows wanting(ring);
  for (const event::Record& record : chunk.records) wanting.count(record);
  return wanting.charge();
}

}  // namespace

// In a thread of the job, whose floats may trap: times of the device are compared with ticks.
void count_overwritten(const Ring& ring, const Chunk& chunk) noexcept {
  const event::UsualFloats usual_floats;
  ring.count_drop(DropCause::overwritten, charge_windows(ring, chunk));
}

}  // namespace traceagent::ring
