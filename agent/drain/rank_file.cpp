#include "agent/drain/rank_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "agent/drain/clock.hpp"
#include "agent/drain/collective_plans.hpp"
#include "agent/drain/coverage.hpp"
#include "agent/drain/event_text.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/lanes.hpp"
#include "agent/drain/trace_metadata.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::drain {
namespace {

using event::Layout;
using event::Record;

struct StepSlice {
  std::uint64_t step;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

// What one file needs while it is written.
class RankFile {
 public:
  RankFile(const ring::Ring& ring, const ring::Window& window)
      : ring_(ring),
        clock_(clock_of(ring)),
        begin_ticks_(window.begin_ticks.load(std::memory_order_relaxed)),
        end_ticks_(window.end_ticks.load(std::memory_order_relaxed)),
        threads_(collect(ring, begin_ticks_, end_ticks_)),
        plans_(ring, clock_, begin_ticks_, end_ticks_, threads_),
        base_ns_(clock_.realtime_ns(begin_ticks_)) {}

  void write(trace::OutputFile& file, const ring::Window& window, const std::string& path,
             const RankFileOptions& options, RankFileReport& report);

 private:
  std::int64_t relative_ns(std::uint64_t ticks) const {
    return clock_.realtime_ns(ticks) - base_ns_;
  }
  EventTimes times_of(const Record& record) const;
  template <class Visit>
  void visit_in_order(Visit&& visit);
  std::size_t lane_of(const Record& record, std::size_t thread, const EventTimes& times);
  std::int64_t tid_of(const Record& record, std::size_t thread, std::size_t lane) const;
  void place_all();
  void write_lane_names(trace::EventWriter& writer) const;
  void write_events(trace::EventWriter& writer);
  std::vector<StepSlice> steps_of(const ring::Window& window) const;
  void write_step(trace::EventWriter& writer, const StepSlice& step) const;

  const ring::Ring ring_;
  const event::TickConverter clock_;
  const std::uint64_t begin_ticks_, end_ticks_;
  std::vector<ThreadEvents> threads_;
  const CollectivePlans plans_;
  const std::int64_t base_ns_;
  std::vector<StepSlice> steps_;
  // Lanes are found twice, first to name them (metadata comes before events), then to write. Calls
  // that ran at the first look run at the second: had they ended there, lanes would differ.
  std::unordered_set<const Record*> in_flight_;
  std::vector<NestingLanes> thread_lanes_;
  NestingLanes range_lanes_;
};

EventTimes RankFile::times_of(const Record& record) const {
  const std::uint64_t begin = record.begin_ticks.load(std::memory_order_relaxed);
  const bool in_flight = !in_flight_.empty() && in_flight_.contains(&record);
  const std::uint64_t end = in_flight ? 0 : record.end_ticks.load(std::memory_order_acquire);
  const std::int64_t ts_ns = relative_ns(begin);
  // A call that has not ended is shown up to the window's end. One that ended after it is shown
  // whole: it was begun by the window's steps.
  const std::int64_t end_ns = relative_ns(end != 0 ? end : std::max(end_ticks_, begin));
  return {ts_ns, std::max<std::int64_t>(end_ns - ts_ns, 0), end == 0};
}

std::size_t RankFile::lane_of(const Record& record, std::size_t thread, const EventTimes& times) {
  if (record.layout == Layout::mark) return 0;
  NestingLanes& lanes =
      (record.flags & event::flag_process_range) != 0 ? range_lanes_ : thread_lanes_[thread];
  return lanes.place(times.ts_ns, times.ts_ns + times.dur_ns);
}

std::int64_t RankFile::tid_of(const Record& record, std::size_t thread, std::size_t lane) const {
  if ((record.flags & event::flag_process_range) != 0) {
    return process_ranges_tid + static_cast<std::int64_t>(lane);
  }
  return spill_tid(threads_[thread].thread_id, lane);
}

// visit(thread index, record, times, lane)
template <class Visit>
void RankFile::visit_in_order(Visit&& visit) {
  thread_lanes_.assign(threads_.size(), {});
  range_lanes_ = {};
  std::int64_t latest_ns = 0;
  for_each_in_order(threads_, [&](std::size_t thread, const Record& record) {
    EventTimes times = times_of(record);
    // Two anchors' rates may differ by some ppm: never let that put events out of order.
    const std::int64_t late_ns = std::max<std::int64_t>(latest_ns - times.ts_ns, 0);
    latest_ns = times.ts_ns += late_ns;
    times.dur_ns -= std::min(times.dur_ns, late_ns);
    visit(thread, record, times, lane_of(record, thread, times));
  });
}

void RankFile::place_all() {
  for (const ThreadEvents& thread : threads_) {
    for (const Record* record : thread.records) {
      if (record->end_ticks.load(std::memory_order_acquire) == 0) in_flight_.insert(record);
    }
  }
  visit_in_order([](std::size_t, const Record&, const EventTimes&, std::size_t) {});
}

void RankFile::write_lane_names(trace::EventWriter& writer) const {
  const auto name_lane = [&](std::int64_t tid, const std::string& name, std::int64_t index) {
    writer.thread_name(tid, name);
    writer.thread_sort_index(tid, index);
  };
  if (!steps_.empty()) name_lane(steps_tid, "steps", -1);
  for (std::size_t lane = 0; lane < range_lanes_.lane_count(); ++lane) {
    name_lane(process_ranges_tid + static_cast<std::int64_t>(lane), "NVTX process ranges", 0);
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const std::int64_t tid = threads_[i].thread_id;
    std::string name = threads_[i].thread_name;
    if (tid < first_plan_lane) name = "thread " + std::to_string(tid) + " (" + name + ")";
    // A thread that only left marks has no lane of slices, yet is a lane.
    const std::size_t lanes = std::max<std::size_t>(thread_lanes_[i].lane_count(), 1);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      name_lane(spill_tid(tid, lane), lane == 0 ? name : name + " overlapping", tid);
    }
  }
}

std::vector<StepSlice> RankFile::steps_of(const ring::Window& window) const {
  std::vector<StepSlice> steps;
  if (window.is_startup != 0) return steps;
  const std::uint64_t last = window.last_step.load(std::memory_order_relaxed);
  // Older edges are overwritten; the bound also holds for a damaged ring's numbers.
  const std::uint64_t first = std::max(window.first_step.load(std::memory_order_relaxed),
                                       last - std::min<std::uint64_t>(last, ring::step_slots - 1));
  for (std::uint64_t step = first; step - first < ring::step_slots && step <= last; ++step) {
    const ring::StepEdge& edge = ring_.header().steps[step % ring::step_slots];
    const std::uint64_t begin = edge.begin_ticks.load(std::memory_order_relaxed);
    const std::uint64_t end = edge.end_ticks.load(std::memory_order_acquire);
    if (edge.step.load(std::memory_order_relaxed) != step) continue;
    if (begin == 0 || begin >= end_ticks_) continue;
    steps.push_back({step, relative_ns(std::max(begin, begin_ticks_)),
                     relative_ns(end != 0 ? std::min(end, end_ticks_) : end_ticks_)});
  }
  return steps;
}

void RankFile::write_step(trace::EventWriter& writer, const StepSlice& step) const {
  writer.complete("ProfilerStep#" + std::to_string(step.step), "user_annotation", steps_tid,
                  step.begin_ns, std::max<std::int64_t>(step.end_ns - step.begin_ns, 0));
  writer.arg("step", step.step);
  writer.end();
}

void RankFile::write_events(trace::EventWriter& writer) {
  EventText text(ring_, writer, &plans_);
  std::size_t next_step = 0;
  visit_in_order(
      [&](std::size_t thread, const Record& record, const EventTimes& times, std::size_t lane) {
        while (next_step < steps_.size() && steps_[next_step].begin_ns <= times.ts_ns) {
          write_step(writer, steps_[next_step++]);
        }
        text.write(record, tid_of(record, thread, lane), times);
      });
  while (next_step < steps_.size()) write_step(writer, steps_[next_step++]);
}

void RankFile::write(trace::OutputFile& file, const ring::Window& window, const std::string& path,
                     const RankFileOptions& options, RankFileReport& report) {
  const ring::IdentityBlock& identity = ring_.header().identity;
  trace::DocumentHeader header;
  header.rank = identity.rank;
  header.world_size = identity.world_size;
  header.backend = "nccl";
  header.base_ns = base_ns_;
  header.trace_name = path;
  header.pg_config = process_groups(ring_);
  header.run_key = ring_.name(identity.run_key);
  header.node_rank = identity.node_rank;
  steps_ = steps_of(window);
  place_all();
  trace::write_header(file, header);
  trace::EventWriter writer(file, identity.trace_pid);
  write_process_metadata(writer, ring_);
  write_lane_names(writer);
  write_events(writer);
  report.events = writer.events();
  WindowCoverage coverage;
  count_calls(threads_, coverage.calls);
  plans_.correct(coverage.calls);
  trace::JsonObject metadata = rank_metadata(ring_, window, report.events, options, coverage);
  plans_.describe(metadata);
  trace::write_footer(file, metadata.text(), !options.recovered);
}

}  // namespace

namespace {

bool is_own_file(const ring::Ring& ring, const std::string& path) {
  const auto& windows = ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), [&](const ring::Window& window) {
    return ring.name(window.file_name) == path;
  });
}

NamedFile free_file_name(const ring::Ring& ring, const ring::Window& window) {
  NamedFile named = rank_file_name(ring, window);
  if (!named.problem.empty() || ring.header().identity.overwrite_files != 0) return named;
  // A name without {batch} meets this process's own files: that is said, not evaded.
  if (access(named.path.c_str(), F_OK) == 0 && !is_own_file(ring, named.path)) {
    named.path = with_pid(named.path, ring.header().owner_pid);
  }
  return named;
}

}  // namespace

RankFileReport write_rank_file(const ring::Ring& ring, const ring::Window& window,
                               const RankFileOptions& options) noexcept try {
  RankFileReport report;
  const NamedFile named = free_file_name(ring, window);
  report.path = named.path;
  report.problem = named.problem;
  if (!report.problem.empty()) return report;
  report.problem = make_parent_folders(named.path);
  if (!report.problem.empty()) return report;

  trace::OutputFile file;
  trace::OutputOptions output;
  output.gzip = ring.header().identity.gzip != 0;
  output.overwrite = ring.header().identity.overwrite_files != 0;
  if (!file.open(named.path, output)) {
    report.problem = file.error();
    return report;
  }
  RankFile(ring, window).write(file, window, named.path, options, report);
  if (!file.finish()) report.problem = file.error();
  return report;
} catch (...) {
  RankFileReport report;
  report.problem = "trace file: out of memory while it was written: lower TRACEAGENT_RING_SIZE";
  return report;
}

}  // namespace traceagent::drain
