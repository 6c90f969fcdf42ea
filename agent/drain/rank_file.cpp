#include "agent/drain/rank_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "agent/drain/clock.hpp"
#include "agent/drain/counter_events.hpp"
#include "agent/drain/coverage.hpp"
#include "agent/drain/device_text.hpp"
#include "agent/drain/event_text.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/drain/lanes.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/run_index.hpp"
#include "agent/drain/trace_metadata.hpp"
#include "agent/drain/window_marks.hpp"
#include "agent/drain/window_order.hpp"
#include "agent/drain/written_window.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/output_file.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::drain {
namespace {

// What one file needs while it is written.
class RankFile {
 public:
  RankFile(const ring::Ring& ring, const ring::Window& window)
      : ring_(ring),
        order_(ring, window),
        counters_(ring, window.begin_ticks.load(std::memory_order_relaxed),
                  window.end_ticks.load(std::memory_order_relaxed), clock_of(ring, window)),
        marks_(ring, window, order_, counters_) {}

  void write(trace::OutputFile& file, const ring::Window& window, const std::string& path,
             const RankFileOptions& options, RankFileReport& report);

 private:
  trace::DocumentHeader header(const std::string& path) const;
  void write_lane_names(trace::EventWriter& writer);
  void write_events(trace::EventWriter& writer);
  void write_footer(trace::OutputFile& file, const ring::Window& window,
                    const RankFileOptions& options, RankFileReport& report) const;

  const ring::Ring ring_;
  WindowOrder order_;
  const CounterEvents counters_;
  WindowMarks marks_;
};

void RankFile::write_lane_names(trace::EventWriter& writer) {
  marks_.write_lane_name(writer);
  order_.visit([](const PlacedCall&) {}, [](const DeviceSlice&, std::int64_t) {});
  order_.write_lane_names(writer);
}

// What ran, where it is a kernel and CUPTI told of it.
std::uint32_t kernel_of(const DeviceSlice& slice) noexcept {
  if (slice.record->layout != event::Layout::device_work) return 0;
  const event::DeviceWork work = event::device_work_of(*slice.record);
  return work.kind == event::DeviceKind::kernel ? work.name : 0;
}

void RankFile::write_events(trace::EventWriter& writer) {
  const SimulatedCalls simulated(order_.threads());
  EventText text(ring_, writer, &order_.plans(), &simulated);
  const DeviceEvents& device = order_.device();
  DeviceText device_text(ring_, order_.threads(), device, writer);
  std::vector<std::size_t> next_arrow(order_.threads().size());
  const auto write_call = [&](const PlacedCall& call) {
    marks_.write_until(writer, call.times.ts_ns);
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
    marks_.write_until(writer, ts_ns);
    device_text.write_slice(slice, ts_ns);
  });
  marks_.write_until(writer, INT64_MAX);
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
  header.host = ring_.name(identity.host);
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
  trace::write_header(file, header(path));
  trace::EventWriter writer(file, ring_.header().identity.trace_pid);
  write_process_metadata(writer, ring_);
  write_lane_names(writer);
  write_events(writer);
  report.base_ns = order_.base_ns();
  report.events = writer.events();
  write_footer(file, window, options, report);
  note_last_correlation(ring_, window, order_.device().last_correlation());
}

void RankFile::write_footer(trace::OutputFile& file, const ring::Window& window,
                            const RankFileOptions& options, RankFileReport& report) const {
  WindowCoverage coverage;
  count_calls(order_.threads(), coverage.calls);
  order_.plans().correct(coverage.calls);
  coverage.match = order_.device().match();
  coverage.steps_missing = marks_.steps_missing();
  coverage.calls[static_cast<std::size_t>(ring::DoorId::cupti)] = coverage.match.work;
  count_late(ring_, window, coverage.match.launches_without_work[cause_late]);
  report.dropped = coverage.dropped = ring::dropped_in(ring_, window);
  report.early_launches = coverage.match.launches_without_work[cause_before_recording];
  report.has_calls_alone =
      ring_.header().device.source.load(std::memory_order_relaxed) == ring::DeviceSource::none &&
      coverage.calls[static_cast<std::size_t>(ring::DoorId::cudart)] +
              coverage.calls[static_cast<std::size_t>(ring::DoorId::driver)] !=
          0;
  trace::JsonObject metadata = rank_metadata(ring_, window, report.events, options, coverage);
  order_.plans().describe(metadata);
  const trace::JsonObject counters = counters_.describe(ring_);
  if (!counters.empty()) metadata.add("counters", counters);
  const trace::JsonObject names = order_.device().lane_names().describe(order_.device().lanes());
  if (!names.empty()) metadata.add("names", names);
  trace::write_footer(file, metadata.text(), !options.recovered || ring::has_finished(ring_));
}

}  // namespace

namespace {

bool may_replace(const ring::Ring& ring) { return ring.header().identity.overwrite_files != 0; }

// A file that a recovery leaves there whatever output.overwrite says: of another cycle, or of a run
// that came after the dead one.
bool stays(const ring::Ring& ring, const ring::Window& window, const std::string& path) {
  trace::TraceReader reader;
  if (is_of_run(path, ring)) return true;
  if (!reader.open(path)) return false;
  const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
  return reader.header().base_ns > clock_of(ring).realtime_ns(begin_ticks);
}

// What the file of a cycle before takes, where the cycles' files have one name.
std::uint64_t own_bytes_at(const ring::Ring& ring, const std::string& path) {
  struct stat facts {};
  const bool is_replaced =
      may_replace(ring) && is_own_file(ring, path) && stat(path.c_str(), &facts) == 0;
  return is_replaced ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

std::uint64_t with_room_of(std::uint64_t replaced_bytes, std::uint64_t most_bytes) noexcept {
  return most_bytes + std::min(replaced_bytes, UINT64_MAX - most_bytes);
}

// The names that a window's file may have, in turn.
class FileNames {
 public:
  FileNames(const ring::Ring& ring, const std::string& name, bool may_replace, bool is_recovered)
      : ring_(ring), name_(name), may_replace_(may_replace), is_recovered_(is_recovered) {}

  std::string first() {
    const std::string path = may_replace_ ? name_ : next();
    has_none_ = path.empty();
    return has_none_ ? name_ : path;
  }
  // All are taken: open() is to refuse the file before it is written.
  bool has_none() const noexcept { return has_none_; }
  // The next that nobody has yet; empty: there are no more.
  std::string next() {
    while (attempt_ < most_names) {
      const std::string path = name_at_attempt(name_, ring_.header().owner_pid, attempt_++);
      if (access(path.c_str(), F_OK) != 0) return path;
      // A name without {batch} meets this process's own files: that is said, not evaded, as long as
      // what is not written stays in the ring.
      if (!is_recovered_ && is_own_file(ring_, path)) return path;
    }
    return {};
  }

 private:
  const ring::Ring& ring_;
  const std::string& name_;
  const bool may_replace_;
  const bool is_recovered_;
  int attempt_ = 0;
  bool has_none_ = false;
};

trace::OutputOptions output_options(const ring::Ring& ring, bool may_replace,
                                    std::uint64_t most_bytes, const std::string& path,
                                    FileNames& names) {
  trace::OutputOptions output;
  output.gzip = is_compressed(ring, path);
  output.overwrite = may_replace;
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
  const bool replaces =
      may_replace(ring) && !(options.recovered && stays(ring, window, named.path));
  FileNames names(ring, named.path, replaces, options.recovered);
  report.path = names.first();
  report.is_of_several_ranks = named.is_of_several_ranks;
  report.is_shortened = named.is_shortened;
  if (named.is_of_several_ranks && report.path != named.path) report.evaded = named.path;
  report.problem = make_parent_folders(report.path);
  if (!report.problem.empty()) return report;

  report.replaced_bytes = own_bytes_at(ring, report.path);
  const std::uint64_t most_bytes = with_room_of(report.replaced_bytes, options.most_bytes);
  trace::OutputFile file;
  if (!file.open(report.path, output_options(ring, replaces, most_bytes, report.path, names))) {
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
