#include "agent/drain/rank_file.hpp"

#include <unistd.h>

#include <algorithm>

#include "agent/drain/counter_events.hpp"
#include "agent/drain/coverage.hpp"
#include "agent/drain/device_text.hpp"
#include "agent/drain/event_text.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/governor_changes.hpp"
#include "agent/drain/lanes.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/drain/trace_metadata.hpp"
#include "agent/drain/window_order.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::drain {
namespace {

struct StepSlice {
  std::uint64_t step;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

// One of the others of its kind, at its place.
struct Mark {
  std::int64_t ts_ns;
  enum Kind : std::uint8_t { step, change, counter } kind;
  std::size_t index;
};

// What one file needs while it is written.
class RankFile {
 public:
  RankFile(const ring::Ring& ring, const ring::Window& window)
      : ring_(ring),
        begin_ticks_(window.begin_ticks.load(std::memory_order_relaxed)),
        end_ticks_(window.end_ticks.load(std::memory_order_relaxed)),
        order_(ring, window),
        counters_(ring, begin_ticks_, end_ticks_, clock_of(ring, window)) {}

  void write(trace::OutputFile& file, const ring::Window& window, const std::string& path,
             const RankFileOptions& options, RankFileReport& report);

 private:
  trace::DocumentHeader header(const std::string& path) const;
  void write_lane_names(trace::EventWriter& writer);
  void write_events(trace::EventWriter& writer);
  std::vector<StepSlice> steps_of(const ring::Window& window);
  void write_marks_until(trace::EventWriter& writer, std::int64_t ts_ns);
  void write_step(trace::EventWriter& writer, const StepSlice& step);
  void write_change(trace::EventWriter& writer, const GovernorChange& change);
  void order_marks();
  void write_footer(trace::OutputFile& file, const ring::Window& window,
                    const RankFileOptions& options, std::uint64_t events) const;

  const ring::Ring ring_;
  const std::uint64_t begin_ticks_, end_ticks_;
  WindowOrder order_;
  const CounterEvents counters_;
  std::vector<StepSlice> steps_;
  std::uint64_t steps_missing_ = 0;
  std::vector<GovernorChange> changes_;  // in this window
  std::vector<Mark> marks_;
  std::size_t next_mark_ = 0;
};

void RankFile::write_lane_names(trace::EventWriter& writer) {
  if (!steps_.empty() || !changes_.empty()) {
    writer.thread_name(steps_tid, "steps");
    writer.thread_sort_index(steps_tid, -1);
  }
  order_.visit([](const PlacedCall&) {}, [](const DeviceSlice&, std::int64_t) {});
  order_.write_lane_names(writer);
}

std::vector<StepSlice> RankFile::steps_of(const ring::Window& window) {
  std::vector<StepSlice> steps;
  if (window.is_startup != 0) return steps;
  const std::uint64_t last = window.last_step.load(std::memory_order_relaxed);
  const std::uint64_t wanted = window.first_step.load(std::memory_order_relaxed);
  // Older edges are overwritten; the bound also holds for a damaged ring's numbers.
  const std::uint64_t first =
      std::max(wanted, last - std::min<std::uint64_t>(last, ring::step_slots - 1));
  steps_missing_ = first - wanted;
  for (std::uint64_t step = first; step - first < ring::step_slots && step <= last; ++step) {
    const ring::StepEdge& edge = ring_.header().steps[step % ring::step_slots];
    const std::uint64_t begin = edge.begin_ticks.load(std::memory_order_relaxed);
    const std::uint64_t end = edge.end_ticks.load(std::memory_order_acquire);
    const std::uint64_t there = edge.step.load(std::memory_order_relaxed);
    // A file that was tried again, thousands of steps later. One of another number never began.
    if (there > step && (there - step) % ring::step_slots == 0) ++steps_missing_;
    if (there != step) continue;
    if (begin == 0 || begin >= end_ticks_) continue;
    steps.push_back({step, order_.relative_ns(std::max(begin, begin_ticks_)),
                     order_.relative_ns(end != 0 ? std::min(end, end_ticks_) : end_ticks_)});
  }
  return steps;
}

void RankFile::write_step(trace::EventWriter& writer, const StepSlice& step) {
  writer.complete("ProfilerStep#" + std::to_string(step.step), "user_annotation", steps_tid,
                  step.begin_ns, std::max<std::int64_t>(step.end_ns - step.begin_ns, 0));
  writer.arg("step", step.step);
  writer.end();
}

void RankFile::write_change(trace::EventWriter& writer, const GovernorChange& change) {
  const auto budget = ring_.header().governor.budget_millionths.load(std::memory_order_relaxed);
  writer.instant(name_of(change, budget), "traceagent", steps_tid,
                 order_.relative_ns(change.ticks));
  writer.arg("level", change.level);
  writer.arg("left_out", names_of(change.left_out));
  writer.end();
}

// What is no call: steps, what the governor did (on the same lane, so that it is seen where
// something is missing), counters.
void RankFile::order_marks() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    marks_.push_back({steps_[i].begin_ns, Mark::step, i});
  }
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    marks_.push_back({order_.relative_ns(changes_[i].ticks), Mark::change, i});
  }
  for (std::size_t i = 0; i < counters_.events().size(); ++i) {
    marks_.push_back({order_.relative_ns(counters_.events()[i].ticks), Mark::counter, i});
  }
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark& a, const Mark& b) { return a.ts_ns < b.ts_ns; });
}

void RankFile::write_marks_until(trace::EventWriter& writer, std::int64_t ts_ns) {
  for (; next_mark_ < marks_.size() && marks_[next_mark_].ts_ns <= ts_ns; ++next_mark_) {
    const Mark& mark = marks_[next_mark_];
    if (mark.kind == Mark::step) write_step(writer, steps_[mark.index]);
    if (mark.kind == Mark::change) write_change(writer, changes_[mark.index]);
    if (mark.kind == Mark::counter) {
      drain::write(writer, counters_.events()[mark.index], mark.ts_ns);
    }
  }
}

// What ran, where it is a kernel and CUPTI told of it.
std::uint32_t kernel_of(const DeviceSlice& slice) noexcept {
  if (slice.record->layout != event::Layout::device_work) return 0;
  const event::DeviceWork work = event::device_work_of(*slice.record);
  return work.kind == event::DeviceKind::kernel ? work.name : 0;
}

void RankFile::write_events(trace::EventWriter& writer) {
  EventText text(ring_, writer, &order_.plans());
  const DeviceEvents& device = order_.device();
  DeviceText device_text(ring_, order_.threads(), device, writer);
  std::vector<std::size_t> next_arrow(order_.threads().size());
  const auto write_call = [&](const PlacedCall& call) {
    write_marks_until(writer, call.times.ts_ns);
    if (call.record == nullptr) {
      const Launch& launch = device.launches()[call.index];
      device_text.write_call(launch, call.tid, call.times.ts_ns, call.times.dur_ns);
      for (const Arrow& arrow : device.arrows_of_launch(call.index)) {
        device_text.write_arrow(arrow, call.tid, call.times.ts_ns);
      }
      return;
    }
    const auto arrows = device.arrows_of_thread(call.thread);
    std::size_t& next = next_arrow[call.thread];
    const bool has_arrow = next < arrows.size() && arrows[next].host == call.index;
    const std::uint32_t kernel = has_arrow ? kernel_of(device.slices()[arrows[next].slice]) : 0;
    text.write(*call.record, call.tid, call.times, kernel);
    for (; next < arrows.size() && arrows[next].host == call.index; ++next) {
      device_text.write_arrow(arrows[next], call.tid, call.times.ts_ns);
    }
  };
  order_.visit(write_call, [&](const DeviceSlice& slice, std::int64_t ts_ns) {
    write_marks_until(writer, ts_ns);
    device_text.write_slice(slice, ts_ns);
  });
  write_marks_until(writer, INT64_MAX);
}

trace::DocumentHeader RankFile::header(const std::string& path) const {
  const ring::IdentityBlock& identity = ring_.header().identity;
  trace::DocumentHeader header;
  header.rank = identity.rank;
  header.world_size = identity.world_size;
  header.backend = "nccl";
  header.base_ns = order_.base_ns();
  header.trace_name = path;
  header.pg_config = process_groups(ring_);
  header.run_key = ring_.name(identity.run_key);
  header.node_rank = identity.node_rank;
  const auto properties =
      ring_.name(ring_.header().device.properties_json.load(std::memory_order_acquire));
  // A damaged ring's text would spoil the file.
  if (properties.starts_with('[') && trace::is_whole_value(properties)) {
    header.device_properties_json = properties;
  }
  return header;
}

void RankFile::write(trace::OutputFile& file, const ring::Window& window, const std::string& path,
                     const RankFileOptions& options, RankFileReport& report) {
  steps_ = steps_of(window);
  changes_ = governor_changes(ring_);
  std::erase_if(changes_, [&](const GovernorChange& change) {
    return change.ticks < begin_ticks_ || change.ticks >= end_ticks_;
  });
  order_marks();
  trace::write_header(file, header(path));
  trace::EventWriter writer(file, ring_.header().identity.trace_pid);
  write_process_metadata(writer, ring_);
  write_lane_names(writer);
  write_events(writer);
  report.events = writer.events();
  write_footer(file, window, options, report.events);
  note_last_correlation(ring_, window, order_.device().last_correlation());
}

void RankFile::write_footer(trace::OutputFile& file, const ring::Window& window,
                            const RankFileOptions& options, std::uint64_t events) const {
  WindowCoverage coverage;
  count_calls(order_.threads(), coverage.calls);
  order_.plans().correct(coverage.calls);
  coverage.match = order_.device().match();
  coverage.steps_missing = steps_missing_;
  coverage.calls[static_cast<std::size_t>(ring::DoorId::cupti)] = coverage.match.work;
  count_late(ring_, window, coverage.match.launches_without_work[cause_late]);
  trace::JsonObject metadata = rank_metadata(ring_, window, events, options, coverage);
  order_.plans().describe(metadata);
  const trace::JsonObject counters = counters_.describe(ring_);
  if (!counters.empty()) metadata.add("counters", counters);
  const trace::JsonObject names = order_.device().lane_names().describe(order_.device().lanes());
  if (!names.empty()) metadata.add("names", names);
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

bool may_replace(const ring::Ring& ring) { return ring.header().identity.overwrite_files != 0; }

// The names that a window's file may have, in turn.
class FileNames {
 public:
  FileNames(const ring::Ring& ring, const std::string& name) : ring_(ring), name_(name) {}

  std::string first() {
    const std::string path = may_replace(ring_) ? name_ : next();
    has_none_ = path.empty();
    return has_none_ ? name_ : path;
  }
  // All are taken: open() is to refuse the file before it is written.
  bool has_none() const noexcept { return has_none_; }
  // The next that nobody has yet; empty: there are no more.
  std::string next() {
    while (attempt_ < most_names) {
      const std::string path = name_at_attempt(name_, ring_.header().owner_pid, attempt_++);
      // A name without {batch} meets this process's own files: that is said, not evaded.
      if (access(path.c_str(), F_OK) != 0 || is_own_file(ring_, path)) return path;
    }
    return {};
  }

 private:
  const ring::Ring& ring_;
  const std::string& name_;
  int attempt_ = 0;
  bool has_none_ = false;
};

trace::OutputOptions output_options(const ring::Ring& ring, std::uint64_t most_bytes,
                                    const std::string& path, FileNames& names) {
  trace::OutputOptions output;
  output.gzip = ring.header().identity.gzip != 0;
  output.overwrite = may_replace(ring);
  output.most_bytes = most_bytes;
  if (!output.overwrite && !names.has_none() && !is_own_file(ring, path)) {
    output.next_name = [&names] { return names.next(); };
  }
  return output;
}

}  // namespace

RankFileReport write_rank_file(const ring::Ring& ring, const ring::Window& window,
                               const RankFileOptions& options) try {
  RankFileReport report;
  const NamedFile named = rank_file_name(ring, window);
  report.path = named.path;
  report.problem = named.problem;
  if (!report.problem.empty()) return report;
  FileNames names(ring, named.path);
  report.path = names.first();
  report.is_of_several_ranks = named.is_of_several_ranks;
  if (named.is_of_several_ranks && report.path != named.path) report.evaded = named.path;
  report.problem = make_parent_folders(report.path);
  if (!report.problem.empty()) return report;

  trace::OutputFile file;
  if (!file.open(report.path, output_options(ring, options.most_bytes, report.path, names))) {
    report.problem = file.error();
    return report;
  }
  settle_late_losses(ring, window);
  RankFile(ring, window).write(file, window, report.path, options, report);
  if (!file.finish()) report.problem = file.error();
  // Within it stands the name that it was to have.
  if (report.problem.empty() && file.path() != report.path) {
    report.evaded = named.path;
    report.path = file.path();
  }
  report.bytes = file.file_bytes();
  report.is_too_large = file.is_too_large();
  if (report.problem.empty()) {
    note_told(ring, window);
    report.index_problem =
        index_saved(ring, window, report, options.recovered, options.index_queue);
  }
  return report;
} catch (...) {
  RankFileReport report;
  report.problem = "trace file: out of memory while it was written: lower TRACEAGENT_RING_SIZE";
  return report;
}

}  // namespace traceagent::drain
