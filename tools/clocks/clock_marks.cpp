#include "tools/clocks/clock_marks.hpp"

#include <cstdio>
#include <limits>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/trace_reader.hpp"
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

struct Mark {
  std::int64_t rank = 0;
  std::int64_t ns = 0;
};

std::string_view value_of(std::string_view line) {
  return trace::member(trace::member(line, "args").value_or(""), "value").value_or("");
}

void take_lower(std::string_view line, std::optional<Mark>& mark) {
  // Exact: a double of today's microseconds is a hundred nanoseconds off.
  const auto time = parse_microseconds(value_of(line));
  const std::int64_t rank = trace::rank_of_pid(trace::integer_member(line, "pid").value_or(0));
  if (time && (!mark || rank < mark->rank)) {
    mark = Mark{rank, time->rounded_ns()};
  }
}

}  // namespace

std::optional<BarrierMark> barrier_of(const std::string& path) {
  TraceReader reader;
  if (!reader.open(path)) {
    return std::nullopt;
  }
  std::optional<Mark> at;
  std::optional<Mark> bound;
  TraceLine line;
  while ((line = reader.next()).kind == TraceLine::Kind::metadata) {
    if (line.text.find(time_name) != std::string_view::npos) {
      take_lower(line.text, at);
    } else if (line.text.find(bound_name) != std::string_view::npos) {
      take_lower(line.text, bound);
    }
  }
  const auto is_fit = [](const std::optional<Mark>& mark, std::int64_t most_ns) {
    return mark && mark->ns >= 0 && mark->ns < most_ns;
  };
  constexpr std::int64_t most_bound_ns = 1'000'000'000'000'000;
  if (!is_fit(at, std::numeric_limits<std::int64_t>::max()) || !is_fit(bound, most_bound_ns) ||
      at->rank != bound->rank) {
    return std::nullopt;
  }
  return BarrierMark{at->rank, at->ns, bound->ns + rounding_ns};
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
