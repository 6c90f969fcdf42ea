#include "tools/clocks/clock_marks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tools/import/event_batch.hpp"
#include "tools/import/exact_time.hpp"

namespace traceagent::tools {

namespace {

using trace::TraceLine;
using trace::TraceReader;

constexpr char time_name[] = "clock_sync_timestamp_us";
constexpr char bound_name[] = "clock_sync_error_bound";
// Composer writes whole microseconds and rounds down: two times are a microsecond less or more
// apart than said, and the bound is up to one larger.
constexpr std::int64_t rounding_ns = 2000;

// Of a file that was cut anywhere, or by nobody's rules: more cycles than anybody keeps.
constexpr std::size_t most_marks = 1000;

std::string_view value_of(std::string_view line) {
  return trace::member(trace::member(line, "args").value_or(""), "value").value_or("");
}

// The marks of the lowest rank in a file's metadata events, as they come.
class Marks {
 public:
  void add(std::string_view line) {
    const bool is_time = line.find(time_name) != std::string_view::npos;
    if (!is_time && line.find(bound_name) == std::string_view::npos) return;
    // Exact: a double of today's microseconds is a hundred nanoseconds off.
    const auto value = parse_microseconds(value_of(line));
    const auto pid = trace::integer_member(line, "pid");
    if (!value || !pid) return;
    is_time ? add_time(*pid, value->rounded_ns()) : add_bound(*pid, value->rounded_ns());
  }

  [[nodiscard]] std::vector<BarrierMark> fit() const;
  [[nodiscard]] std::int64_t largest_bound_ns() const {
    return std::max<std::int64_t>(largest_bound_ns_, 0);
  }

 private:
  struct Mark {
    std::int64_t at_ns = 0;
    std::optional<std::int64_t> bound_ns;
  };

  void add_time(std::int64_t pid, std::int64_t ns) {
    if (!pids_.empty() && trace::rank_of_pid(pid) < trace::rank_of_pid(pids_.front())) {
      marks_.clear();
      pids_.clear();
    }
    const bool is_higher =
        !pids_.empty() && trace::rank_of_pid(pid) > trace::rank_of_pid(pids_.front());
    if (is_higher || marks_.size() >= most_marks) return;
    marks_.push_back({ns, std::nullopt});
    pids_.push_back(pid);
  }

  // Of the mark before it. A merge writes a line once that stood in two files, and adds bounds of
  // its own: those have another pid.
  void add_bound(std::int64_t pid, std::int64_t ns) {
    largest_bound_ns_ = std::max(largest_bound_ns_, ns);
    if (pids_.empty() || pids_.back() != pid) return;
    if (!marks_.back().bound_ns) marks_.back().bound_ns = ns;
  }

  std::vector<Mark> marks_;
  std::vector<std::int64_t> pids_;      // of each of them
  std::int64_t largest_bound_ns_ = -1;  // of all ranks; there is none
};

std::vector<BarrierMark> Marks::fit() const {
  constexpr std::int64_t most_bound_ns = 1'000'000'000'000'000;
  std::vector<BarrierMark> fit;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const std::int64_t bound_ns = marks_[i].bound_ns.value_or(largest_bound_ns_);
    if (marks_[i].at_ns < 0 || marks_[i].at_ns == std::numeric_limits<std::int64_t>::max())
      continue;
    if (bound_ns < 0 || bound_ns >= most_bound_ns) continue;
    fit.push_back({trace::rank_of_pid(pids_[i]), marks_[i].at_ns, bound_ns + rounding_ns, ""});
  }
  std::sort(fit.begin(), fit.end(),
            [](const BarrierMark& a, const BarrierMark& b) { return a.at_ns < b.at_ns; });
  return fit;
}

// Of an imported file its head says it, which has no events; of ours the first events do.
std::string first_batch(TraceReader& reader, TraceLine line) {
  if (const auto told = trace::member(reader.header().distributed_info, "first_batch")) {
    return std::string(*told);
  }
  for (std::uint64_t i = 0; i < batch_within_events && line.kind != TraceLine::Kind::end; ++i) {
    if (const std::string batch = batch_of(line.text); !batch.empty()) return batch;
    line = reader.next();
  }
  return "";
}

}  // namespace

ClockMarks clock_marks_of(const std::string& path) {
  TraceReader reader;
  if (!reader.open(path)) return {};
  Marks marks;
  TraceLine line;
  while ((line = reader.next()).kind == TraceLine::Kind::metadata) marks.add(line.text);
  ClockMarks found{marks.fit(), marks.largest_bound_ns()};
  if (!found.barriers.empty()) found.barriers.front().batch = first_batch(reader, line);
  return found;
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
