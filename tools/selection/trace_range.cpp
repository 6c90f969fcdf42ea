#include "tools/selection/trace_range.hpp"

#include <algorithm>
#include <set>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/time_window.hpp"

namespace traceagent::tools {

namespace {

constexpr std::uint64_t events_between_reports = 1U << 16;

class RangeReader {
 public:
  // `file`: its number.
  RangeReader(const RangeQuestion& question, std::size_t file, TraceRange& range)
      : question_(question), file_(file), range_(range) {}

  void read(const std::string& path) {
    if (!reader_.open(path)) return;
    unfinished_ranks_ = trace::ranks_of(reader_.header());
    std::erase_if(unfinished_ranks_, [this](std::int64_t rank) { return !has_rank(rank); });
    if (question_.steps && unfinished_ranks_.empty()) return;
    correction_ = {};
    if (question_.corrections != nullptr) {
      const auto found = question_.corrections->find(path);
      correction_ = found == question_.corrections->end() ? correction_ : found->second;
    }
    std::uint64_t events = 0;
    trace::TraceLine line;
    while ((line = reader_.next()).kind != trace::TraceLine::Kind::end) {
      if (line.kind == trace::TraceLine::Kind::event && !read_event(line)) {
        break;
      }
      if (++events % events_between_reports == 0) {
        tell(reader_.file_bytes_read());
      }
    }
    tell(reader_.file_bytes());
    told_bytes_ = 0;
  }

 private:
  [[nodiscard]] bool has_rank(std::int64_t rank) const {
    return question_.rules == nullptr || question_.rules->has_rank(rank);
  }

  // False: nothing more of this file is of interest.
  bool read_event(const trace::TraceLine& line) {
    // Wraps rather than overflows, as the merge does.
    const auto own_ns =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(reader_.header().base_ns) +
                                  static_cast<std::uint64_t>(line.ts_ns));
    const std::int64_t ns = correction_.corrected(own_ns);
    range_.begin_ns = std::min(range_.begin_ns, ns);
    const bool is_past = !question_.steps || read_step(line, ns, *question_.steps);
    if (question_.end) {
      const EventFields fields = fields_of(line.after_ts);
      // One that was never set is no time of the trace's.
      const std::int64_t dur_ns = fields.dur_ns < endless_ns ? fields.dur_ns : 0;
      range_.end_ns =
          std::max(range_.end_ns, end_of(ns, correction_.corrected_duration(own_ns, dur_ns)));
    }
    return question_.end || !is_past;
  }

  // True: no earlier step of the surest kind follows.
  bool read_step(const trace::TraceLine& line, std::int64_t ns, const WantedSteps& wanted) {
    const auto step = marked_step(line.text, line.after_ts);
    if (!step) return false;
    const std::int64_t rank = trace::rank_of_pid(fields_of(line.after_ts).pid);
    if (!has_rank(rank)) return false;
    StepsOfRanks& steps = range_.marked[static_cast<std::size_t>(step->mark)];
    steps[{file_, rank}].add({step->number, ns}, wanted);
    const bool is_past = step->mark == StepMark::profiler_step && step->number >= wanted.last;
    if (is_past) unfinished_ranks_.erase(rank);
    return unfinished_ranks_.empty();
  }

  void tell(std::uint64_t bytes) {
    if (question_.on_read && bytes > told_bytes_) {
      question_.on_read(bytes - told_bytes_);
      told_bytes_ = bytes;
    }
  }

  const RangeQuestion& question_;
  const std::size_t file_;
  TraceRange& range_;
  std::set<std::int64_t> unfinished_ranks_;  // may begin wanted steps, as far as it is read
  trace::TraceReader reader_;
  trace::ClockCorrection correction_;
  std::uint64_t told_bytes_ = 0;
};

}  // namespace

TraceRange range_of(const std::vector<std::string>& files, const RangeQuestion& question) {
  TraceRange range;
  for (std::size_t i = 0; i < files.size(); ++i) {
    RangeReader(question, i, range).read(files[i]);
  }
  return range;
}

}  // namespace traceagent::tools
