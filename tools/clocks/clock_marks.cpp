#include "tools/clocks/clock_marks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/clocks/merged_clock.hpp"
#include "tools/import/exact_time.hpp"
#include "tools/import/mark_batches.hpp"

namespace traceagent::tools {

namespace {

using trace::TraceLine;
using trace::TraceReader;

constexpr char time_name[] = "clock_sync_timestamp_us";
constexpr char bound_name[] = "clock_sync_error_bound";
// Composer writes whole microseconds and rounds down: two times are a microsecond less or more
// apart than said, and the bound is up to one larger.
constexpr std::int64_t rounding_ns = 2000;

// More cycles than anybody keeps, in 2 MB of memory. Of a file with more none is used: which of
// another's they are could be told by all of them alone.
constexpr std::size_t most_marks = 20'000;

std::string_view value_of(std::string_view line) {
  return trace::member(trace::member(line, "args").value_or(""), "value").value_or("");
}

// A merge that has corrected a file's times says how far off they may be, by rank; what it merged
// has other pids.
bool is_of_merge(std::int64_t pid) { return pid >= 0 && pid < trace::pids_of_claim; }

// What a file's metadata events say of clocks, as they come: the marks of the lowest rank.
class Marks {
 public:
  void add(std::string_view line) {
    const bool is_time = line.find(time_name) != std::string_view::npos;
    if (!is_time && line.find(bound_name) == std::string_view::npos) return;
    // Exact: a double of today's microseconds is a hundred nanoseconds off.
    const auto value = parse_microseconds(value_of(line));
    const auto pid = trace::integer_member(line, "pid");
    if (!value || !pid) return;
    if (is_time) {
      add_time(*pid, value->rounded_ns(), line);
    } else {
      add_bound(*pid, value->rounded_ns());
    }
  }

  // `told`: what a merge said of the clock, see merged_clock.hpp; or empty.
  [[nodiscard]] std::vector<BarrierMark> found(std::string_view told) const;

 private:
  struct Mark {
    std::int64_t pid = 0;
    std::int64_t at_ns = 0;
    std::string batch;
    std::optional<std::int64_t> bound_ns;
  };

  void add_time(std::int64_t pid, std::int64_t ns, std::string_view line) {
    const std::int64_t rank = trace::rank_of_pid(pid);
    if (!marks_.empty() && rank < trace::rank_of_pid(marks_.front().pid)) marks_.clear();
    const bool is_higher = !marks_.empty() && rank > trace::rank_of_pid(marks_.front().pid);
    if (is_higher) return;
    are_too_many_ = are_too_many_ || marks_.size() >= most_marks;
    if (are_too_many_) return;
    marks_.push_back({pid, ns, batch_of_mark(trace::member(line, "args").value_or("")), {}});
  }

  // Of the mark before it. A merge writes a line once that stood in two files.
  void add_bound(std::int64_t pid, std::int64_t ns) {
    if (is_of_merge(pid)) {
      std::int64_t& known = bounds_of_merges_[pid];
      known = std::max(known, ns);
    } else {
      largest_bound_ns_ = std::max(largest_bound_ns_, ns);
    }
    if (marks_.empty() || marks_.back().pid != pid || marks_.back().bound_ns) return;
    marks_.back().bound_ns = ns;
  }

  std::vector<Mark> marks_;
  std::map<std::int64_t, std::int64_t> bounds_of_merges_;  // by rank
  std::int64_t largest_bound_ns_ = -1;                     // of all marks; there is none
  bool are_too_many_ = false;
};

// How far off a merge may have left a mark of this rank. Nothing: not known. On the clock to which
// it took all others it has moved nothing.
std::optional<std::int64_t> moved_ns_of(std::int64_t rank, const MergedClock& clock) {
  const bool is_of_rank = clock.of == "rank " + std::to_string(rank);
  return is_of_rank && !clock.bound_ns ? std::optional<std::int64_t>(0) : clock.bound_ns;
}

std::vector<BarrierMark> Marks::found(std::string_view told) const {
  constexpr std::int64_t most_bound_ns = 1'000'000'000'000'000;
  constexpr std::int64_t most_ns = 9'000'000'000'000'000'000;
  const auto is_fit = [](std::int64_t ns, std::int64_t most) { return ns >= 0 && ns <= most; };
  const auto clock = merged_clock(told);
  std::vector<BarrierMark> found;
  if (are_too_many_) return found;
  for (const Mark& mark : marks_) {
    const std::int64_t rank = trace::rank_of_pid(mark.pid);
    const auto of_merge = bounds_of_merges_.find(rank);
    const std::int64_t bound_ns = mark.bound_ns.value_or(largest_bound_ns_);
    std::optional<std::int64_t> moved_ns = clock ? moved_ns_of(rank, *clock) : 0;
    // Where that is not known, these lines are of merges before it.
    if (moved_ns.value_or(0) > 0 && of_merge != bounds_of_merges_.end()) {
      moved_ns = of_merge->second;
    }
    if (is_fit(mark.at_ns, most_ns) && is_fit(bound_ns, most_bound_ns) &&
        is_fit(moved_ns.value_or(-1), most_bound_ns)) {
      found.push_back({rank, mark.at_ns, bound_ns + rounding_ns, *moved_ns, mark.batch});
    }
  }
  return found;
}

}  // namespace

std::vector<BarrierMark> barriers_of(const std::string& path) {
  TraceReader reader;
  if (!reader.open(path)) return {};
  Marks marks;
  TraceLine line;
  while ((line = reader.next()).kind == TraceLine::Kind::metadata) marks.add(line.text);
  return marks.found(trace::member(reader.header().distributed_info, "clock").value_or(""));
}

std::optional<std::string> corrected_mark(std::string_view metadata_event,
                                          const trace::ClockCorrection& correction) {
  if (trace::string_member(metadata_event, "name") != time_name) {
    return std::nullopt;
  }
  const std::string_view value = value_of(metadata_event);
  const auto time = parse_microseconds(value);
  if (!time) {
    return std::nullopt;
  }
  const std::int64_t ns = correction.corrected(time->rounded_ns());
  if (ns < 0) {
    return std::nullopt;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                static_cast<long long>(ns % 1000));
  std::string line(metadata_event);
  line.replace(static_cast<std::size_t>(value.data() - metadata_event.data()), value.size(), text);
  return line;
}

}  // namespace traceagent::tools
