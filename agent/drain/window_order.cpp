#include "agent/drain/window_order.hpp"

#include <algorithm>
#include <string>

#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;

WindowOrder::WindowOrder(const ring::Ring& ring, const ring::Window& window)
    : ring_(ring),
      clock_(clock_of(ring, window)),
      begin_ticks_(window.begin_ticks.load(std::memory_order_relaxed)),
      end_ticks_(window.end_ticks.load(std::memory_order_relaxed)),
      threads_(collect(ring, begin_ticks_, end_ticks_)),
      plans_(ring, clock_, begin_ticks_, end_ticks_, threads_),
      device_(ring, window, clock_, threads_, plans_),
      base_ns_(std::min(clock_.realtime_ns(begin_ticks_), device_.earliest_ns())) {
  for (const ThreadEvents& thread : threads_) {
    for (const Record* record : thread.records) {
      if (record->end_ticks.load(std::memory_order_acquire) == 0) in_flight_.insert(record);
    }
  }
}

EventTimes WindowOrder::times_of(const Record& record) const {
  const std::uint64_t begin = record.begin_ticks.load(std::memory_order_relaxed);
  const bool in_flight = !in_flight_.empty() && in_flight_.contains(&record);
  const std::uint64_t end = in_flight ? 0 : record.end_ticks.load(std::memory_order_acquire);
  const std::int64_t ts_ns = relative_ns(begin);
  // A call that has not ended is shown up to the window's end. One that ended after it is shown
  // whole: it was begun by the window's steps.
  const std::int64_t end_ns = relative_ns(end != 0 ? end : std::max(end_ticks_, begin));
  return {ts_ns, std::max<std::int64_t>(end_ns - ts_ns, 0), end == 0};
}

std::int64_t WindowOrder::place(const Record& record, std::size_t thread, const EventTimes& times) {
  const bool is_of_process = (record.flags & event::flag_process_range) != 0;
  std::size_t lane = 0;
  if (record.layout != Layout::mark) {
    NestingLanes& lanes = is_of_process ? range_lanes_ : thread_lanes_[thread];
    lane = lanes.place(times.ts_ns, times.ts_ns + times.dur_ns);
  }
  return is_of_process ? process_ranges_tid + static_cast<std::int64_t>(lane)
                       : spill_tid(threads_[thread].thread_id, lane);
}

namespace {

// `given`: by the job, with NVTX; a system's name of a thread is cut to 15 characters.
std::string name_of(const ThreadEvents& thread, std::string_view given) {
  if (thread.thread_id >= first_plan_lane) return thread.thread_name;
  const std::string name = "thread " + std::to_string(thread.thread_id);
  if (!given.empty()) return name + " \"" + std::string(given) + "\"";
  return thread.records.empty() ? name : name + " (" + thread.thread_name + ")";
}

}  // namespace

void WindowOrder::write_lane_names(trace::EventWriter& writer) const {
  const auto name_lane = [&](std::int64_t tid, const std::string& name, std::int64_t index) {
    writer.thread_name(tid, name);
    writer.thread_sort_index(tid, index);
  };
  for (std::size_t lane = 0; lane < range_lanes_.lane_count(); ++lane) {
    name_lane(process_ranges_tid + static_cast<std::int64_t>(lane), "NVTX process ranges", 0);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const ThreadEvents& thread = threads_[i];
    // Of a thread that CUPTI told of, at another time than the window's, nothing is shown.
    if (thread.records.empty() && thread_lanes_[i].lane_count() == 0) continue;
    const std::int64_t tid = thread.thread_id;
    const std::string name = name_of(thread, device_.lane_names().of_thread(thread.thread_id));
    // A thread that only left marks has no lane of slices, yet is a lane.
    const std::size_t lanes = std::max<std::size_t>(thread_lanes_[i].lane_count(), 1);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      name_lane(spill_tid(tid, lane), lane == 0 ? name : name + " overlapping", tid);
    }
  }
  device_.lane_names().write(writer, device_.lanes());
}

}  // namespace traceagent::drain
