#pragma once
// All events of a window in order of time, each on its lane.

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "agent/drain/clock.hpp"
#include "agent/drain/collective_plans.hpp"
#include "agent/drain/device_events.hpp"
#include "agent/drain/event_text.hpp"
#include "agent/drain/lanes.hpp"
#include "agent/drain/window_events.hpp"

namespace traceagent::drain {

// A call of the job, or one that only CUPTI saw, at its place.
struct PlacedCall {
  std::size_t thread;
  std::uint32_t index;  // in the thread's records; of a Launch where `record` is null
  const event::Record* record;
  EventTimes times;  // relative to base_ns()
  std::int64_t tid;
};

class WindowOrder {
 public:
  WindowOrder(const ring::Ring& ring, const ring::Window& window);

  // What "ts" counts from: the window's begin, or the begin of work that was under way by then.
  std::int64_t base_ns() const noexcept { return base_ns_; }
  std::int64_t relative_ns(std::uint64_t ticks) const noexcept {
    return clock_.realtime_ns(ticks) - base_ns_;
  }
  const std::vector<ThreadEvents>& threads() const noexcept { return threads_; }
  const CollectivePlans& plans() const noexcept { return plans_; }
  const DeviceEvents& device() const noexcept { return device_; }

  // call(PlacedCall), slice(DeviceSlice, ts_ns). Lanes are the same at every visit.
  template <class Call, class Slice>
  void visit(Call&& call, Slice&& slice);

  // After a visit.
  void write_lane_names(trace::EventWriter& writer) const;

 private:
  EventTimes times_of(const event::Record& record) const;
  std::int64_t place(const event::Record& record, std::size_t thread, const EventTimes& times);
  template <class Call, class Slice>
  void visit_item(const DeviceEvents::Item& item, Call& call, Slice& slice);

  const ring::Ring ring_;
  const event::TickConverter clock_;
  const std::uint64_t begin_ticks_, end_ticks_;
  std::vector<ThreadEvents> threads_;
  const CollectivePlans plans_;
  const DeviceEvents device_;
  const std::int64_t base_ns_;
  // Lanes are found twice, first to name them (metadata comes before events), then to write. Calls
  // that ran at the first look run at the second: had they ended there, lanes would differ.
  std::unordered_set<const event::Record*> in_flight_;
  std::vector<NestingLanes> thread_lanes_;
  NestingLanes range_lanes_;
  std::int64_t latest_ns_ = 0;
};

template <class Call, class Slice>
void WindowOrder::visit_item(const DeviceEvents::Item& item, Call& call, Slice& slice) {
  const std::int64_t ts_ns = latest_ns_ = std::max(latest_ns_, item.ts_ns - base_ns_);
  if (item.kind == DeviceEvents::Kind::slice) {
    slice(device_.slices()[item.index], ts_ns);
    return;
  }
  const Launch& launch = device_.launches()[item.index];
  const std::int64_t end_ns = std::max(launch.end_ns - base_ns_, ts_ns);
  const std::size_t lane = thread_lanes_[launch.thread].place(ts_ns, end_ns);
  const std::int64_t tid = spill_tid(threads_[launch.thread].thread_id, lane);
  call(PlacedCall{launch.thread, item.index, nullptr, {ts_ns, end_ns - ts_ns, false}, tid});
}

template <class Call, class Slice>
void WindowOrder::visit(Call&& call, Slice&& slice) {
  thread_lanes_.assign(threads_.size(), {});
  range_lanes_ = {};
  latest_ns_ = 0;
  std::vector<std::uint32_t> next(threads_.size());
  auto item = device_.items().begin();
  const auto end = device_.items().end();
  for_each_in_order(threads_, [&](std::size_t thread, const event::Record& record) {
    EventTimes times = times_of(record);
    // The host's call comes first where the device's work begins in the same nanosecond.
    for (; item != end && item->ts_ns - base_ns_ < times.ts_ns; ++item) {
      visit_item(*item, call, slice);
    }
    // Two anchors' rates may differ by some ppm: never let that put events out of order.
    const std::int64_t late_ns = std::max<std::int64_t>(latest_ns_ - times.ts_ns, 0);
    latest_ns_ = times.ts_ns += late_ns;
    times.dur_ns -= std::min(times.dur_ns, late_ns);
    call(PlacedCall{thread, next[thread]++, &record, times, place(record, thread, times)});
  });
  for (; item != end; ++item) visit_item(*item, call, slice);
}

}  // namespace traceagent::drain
