#include "tools/import/event_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

namespace {

// From here on a double of microseconds is no longer exact to the nanosecond.
constexpr std::int64_t most_exact_ns = (std::int64_t{1} << 40) * 1000;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t hour_ns = 3600 * second_ns;
constexpr std::string_view line_end = ",\n";

std::optional<double> number_in(std::string_view json) {
  double number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  return error == std::errc() && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

void EventLines::add(const ScannedObject& event, SortedRuns& runs) {
  const ForeignEvent fields(event, forms_);
  const std::optional<ExactTime> begin = time_of(fields, event);
  if (!begin) return;
  const EventPlace place = place_of(fields, *begin);
  char* const start = runs.reserve(event.text.size() + line_frame_bytes);
  char* to = put_event(start, fields, event, place, *begin).end;
  std::memcpy(to, line_end.data(), line_end.size());
  to += line_end.size();
  runs.commit(static_cast<std::size_t>(to - start), place.ts_ns);
}

void EventLines::add(const ScannedObject& event, OrderCheck& order) {
  const ForeignEvent fields(event, forms_);
  const std::optional<ExactTime> begin = time_of(fields, event);
  if (begin) order.add(place_of(fields, *begin).ts_ns, event.text.size());
}

std::optional<ExactTime> EventLines::time_of(const ForeignEvent& fields,
                                             const ScannedObject& event) {
  if (event.members.empty()) {
    ++counts_.empty;
    return std::nullopt;
  }
  if (fields.is_metadata()) {
    add_metadata(fields, event);
    return std::nullopt;
  }
  const std::optional<ExactTime> begin = parse_microseconds(fields.ts);
  if (!begin) {
    drop(fields.ts.empty() ? "no_ts" : "bad_ts");
    return std::nullopt;
  }
  const std::int64_t ns = begin->rounded_ns();
  if (!times_) {
    const bool is_exact = ns < most_exact_ns && ns > -most_exact_ns;
    times_ = EventTimes{is_exact ? 0 : shift_before(ns), 0};
  }
  std::optional<std::int64_t>& first =
      ns >= EventTimes::epoch_ns ? first_epoch_ns_ : first_relative_ns_;
  first = std::min(first.value_or(ns), ns);
  counts_.relative += ns < EventTimes::epoch_ns ? 1 : 0;
  ++counts_.events;
  if (!mark_batches_.is_empty() && fields.may_tell_epoch) {
    mark_batches_.add_event(fields.pid, ns, event.members);
  }
  may_have_collectives_ = may_have_collectives_ || fields.cat == "\"kernel\"";
  return begin;
}

EventPlace EventLines::place_of(const ForeignEvent& fields, const ExactTime& begin) {
  ForeignLanes::Process& process = lanes_->process_of(fields.pid);
  const std::int64_t ns = begin.rounded_ns();
  if (has_fingerprints_) process.fingerprint.add(fields, ns);
  const ForeignLanes::Thread thread = lanes_->thread_of(process, fields.tid);
  counts_.crowded += thread.is_crowd || lanes_->is_crowd(process) ? 1 : 0;
  return {process.rank, process.pid, thread.tid, times_->in_line(ns)};
}

std::int64_t EventLines::shift_before(std::int64_t ns) {
  return ns / second_ns * second_ns - (ns > 0 ? hour_ns : 0);
}

void EventLines::add_metadata(const ForeignEvent& fields, const ScannedObject& event) {
  ++counts_.metadata_events;
  const std::string_view name = inside_quotes(fields.name);
  const std::string_view args = trace::member(event.text, "args").value_or("");
  const bool is_name = name == "process_name";
  ForeignLanes::Process& process = lanes_->process_of(
      fields.pid, is_name ? trace::string_member(args, "name").value_or("") : std::string_view());
  if (is_name && lanes_->is_crowd(process)) {
    // Each of them has another.
  } else if (is_name) {
    if (metadata_bytes_ + args.size() > most_metadata_bytes) return drop("metadata_full");
    metadata_bytes_ += args.size();
    process.name = trace::string_member(args, "name").value_or(process.name);
    if (process.is_own) {
      process.identity = trace::string_member(args, imported_from).value_or("");
      lanes_->keep(process);
    }
  } else if (name == "process_sort_index") {
    process.sort_index = number_in(trace::member(args, "sort_index").value_or(""));
  } else {
    keep_metadata_line(process, fields, event);
  }
  constexpr std::size_t most_programs = 64;
  std::int64_t pid = 0;
  if (name == "process_labels" && trace::string_member(args, "labels") == "CPU" &&
      program_pids_.size() < most_programs && whole_number(fields.pid, pid)) {
    program_pids_.insert(pid);
  }
  if (name == "clock_sync_timestamp_us" || name == "clock_sync_error_bound") {
    described_[std::string(name)] = args;
  }
}

void EventLines::keep_metadata_line(ForeignLanes::Process& process, const ForeignEvent& fields,
                                    const ScannedObject& event) {
  const EventPlace place{process.rank, process.pid, lanes_->thread_of(process, fields.tid).tid};
  std::string line(event.text.size() + line_frame_bytes, '\0');
  const char* const end = put_metadata_event(line.data(), fields, event, place);
  line.resize(static_cast<std::size_t>(end - line.data()));
  if (metadata_bytes_ + line.size() > most_metadata_bytes) return drop("metadata_full");
  metadata_bytes_ += line.size();
  if (fields.name == "\"thread_name\"") process.unnamed[place.tid].clear();
  const auto [kept, is_new] = metadata_.insert(std::move(line));
  if (is_new) metadata_order_.push_back(&*kept);
  if (is_new && fields.name == "\"clock_sync_timestamp_us\"") {
    mark_batches_.add_mark(fields.pid, &*kept);
  }
}

std::vector<std::string> EventLines::metadata_lines() const {
  std::vector<std::string> lines = lanes_->metadata_lines();
  for (const std::string* line : metadata_order_) lines.push_back(mark_batches_.told(line));
  return lines;
}

}  // namespace traceagent::tools
