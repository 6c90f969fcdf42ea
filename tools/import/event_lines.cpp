#include "tools/import/event_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "agent/event/hash.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_text.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/import/text_window.hpp"

namespace traceagent::tools {

namespace {

// Keys, numbers and punctuation of a line beside what it copies.
constexpr std::size_t frame_bytes = 768;
// From here on a double of microseconds is no longer exact to the nanosecond.
constexpr std::int64_t most_exact_ns = (std::int64_t{1} << 40) * 1000;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t hour_ns = 3600 * second_ns;
// Of named threads; where a trace of ours has none.
constexpr std::int64_t first_named_tid = 8'000'000;
constexpr std::int64_t named_tids = 1'000'000;

bool is_string(std::string_view json) { return json.starts_with('"'); }

std::string_view inside(std::string_view json) {
  return is_string(json) ? json.substr(1, json.size() - 2) : json;
}

// For between quotes. What is no string, an object say, may have quotes of its own.
std::string as_name(std::string_view json) {
  if (is_string(json)) return std::string(inside(json));
  const std::string quoted = trace::JsonValue(json).text();
  return std::string(inside(quoted));
}

// Line breaks between tokens, and the indentation behind them, go.
char* put_on_one_line(char* to, std::string_view json) {
  while (!json.empty()) {
    const std::size_t line = std::min(json.find('\n'), json.size());
    to = trace::put_literal(to, json.substr(0, line));
    json.remove_prefix(line);
    while (!json.empty() && is_json_space(json.front())) json.remove_prefix(1);
  }
  return to;
}

// Short as most are: a call of memcpy would cost as much again. Source and target have room.
[[gnu::always_inline]] inline char* put_short(char* to, std::string_view text) {
  static_assert(TextWindow::padding_bytes >= 16 && frame_bytes >= 16);
  std::memcpy(to, text.data(), 16);
  if (text.size() > 16) std::memcpy(to + 16, text.data() + 16, text.size() - 16);
  return to + text.size();
}

// A value of an event (DocumentScan's).
[[gnu::always_inline]] inline char* put_value(char* to, std::string_view value, bool is_one_line) {
  return is_one_line ? put_short(to, value) : put_on_one_line(to, value);
}

char* put_id(char* to, std::int64_t rank, std::string_view id) {
  return trace::put_unsigned(to, foreign_id(rank, id));
}

// {"global": ID}; a {"local": ID} is its process's own, and stays.
char* put_id2(char* to, std::int64_t rank, std::string_view id2) {
  const auto global = trace::member(id2, "global");
  if (!global) return put_on_one_line(to, id2);
  to = put_id(trace::put_literal(to, "{\"global\":"), rank, *global);
  *to++ = '}';
  return to;
}

// Of counters the id is a part of the name, of objects others refer to it from their arguments;
// both are their process's own.
bool is_of_process(std::string_view phase) {
  return phase.size() == 3 && std::string_view("CNOD").find(phase[1]) != std::string_view::npos;
}

std::optional<double> number_in(std::string_view json) {
  double number = 0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
  return error == std::errc() && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Between the rank and the next, in the file's own order: Kineto has GPUs behind the host.
double place_beside(std::int64_t rank, double sort_index) {
  return static_cast<double>(rank) + 0.5 + 0.4 * sort_index / (std::abs(sort_index) + 1e7);
}

}  // namespace

// The members that mean something here; empty: absent.
struct EventLines::Fields {
  std::string_view ts, dur, ph, cat, name, pid, tid, id, id2, bind_id;
  std::uint64_t others = 0;  // a bit for each of the first 64 members that is none of these

  explicit Fields(const ScannedObject& event) {
    std::size_t index = 0;
    for (const JsonMember& member : event.members) {
      const auto field = field_of(member.key);
      if (field != nullptr) {
        this->*field = member.value;
      } else if (index < 64) {
        others |= std::uint64_t{1} << index;
      }
      ++index;
    }
  }

  [[nodiscard]] bool is_other(std::size_t index, const JsonMember& member) const {
    return index < 64 ? (others >> index & 1U) != 0 : field_of(member.key) == nullptr;
  }

  // Null: none of them.
  static std::string_view Fields::*field_of(std::string_view key) {
    switch (key.size()) {
      case 2:
        if (key == "ts") return &Fields::ts;
        return key == "ph" ? &Fields::ph : key == "id" ? &Fields::id : nullptr;
      case 3:
        if (key == "dur") return &Fields::dur;
        if (key == "pid") return &Fields::pid;
        if (key == "tid") return &Fields::tid;
        return key == "cat" ? &Fields::cat : key == "id2" ? &Fields::id2 : nullptr;
      case 4:
        return key == "name" ? &Fields::name : nullptr;
      case 7:
        return key == "bind_id" ? &Fields::bind_id : nullptr;
      default:
        return nullptr;
    }
  }
};

void EventLines::add(const ScannedObject& event) {
  if (event.members.empty()) {
    ++counts_.empty;
    return;
  }
  const Fields fields(event);
  if (fields.ph == "\"M\"") {
    add_metadata(fields, event);
    return;
  }
  if (fields.ts.empty()) return drop("no_ts");
  const std::optional<ExactTime> begin = parse_microseconds(fields.ts);
  if (!begin) return drop("bad_ts");
  const std::int64_t ns = begin->rounded_ns();
  if (!times_) {
    const bool is_exact = ns < most_exact_ns && ns > -most_exact_ns;
    times_ = EventTimes{is_exact ? 0 : shift_before(ns), 0};
  }
  const bool is_epoch = ns >= EventTimes::epoch_ns;
  std::optional<std::int64_t>& first = is_epoch ? first_epoch_ns_ : first_relative_ns_;
  first = std::min(first.value_or(ns), ns);
  write(fields, event, ns - times_->shift_ns + (is_epoch ? 0 : times_->relative_ns), *begin);
  ++counts_.events;
  may_have_collectives_ = may_have_collectives_ || fields.cat == "\"kernel\"";
}

std::int64_t EventLines::shift_before(std::int64_t ns) {
  return ns / second_ns * second_ns - (ns > 0 ? hour_ns : 0);
}

void EventLines::write(const Fields& fields, const ScannedObject& event, std::int64_t ts_ns,
                       const ExactTime& begin) {
  Process& process = process_of(fields.pid);
  const std::int64_t tid = tid_of(process, fields.tid);
  const bool is_one_line = event.text.find('\n') == std::string_view::npos;
  char* const start = runs_.reserve(event.text.size() + frame_bytes);
  char* to = trace::put_literal(start, "{\"ts\":");
  to = trace::put_microseconds(to, ts_ns);
  if (!fields.dur.empty()) {
    to = trace::put_literal(to, ",\"dur\":");
    const std::optional<ExactTime> duration = parse_microseconds(fields.dur);
    to = duration
             ? trace::put_microseconds(to, (begin + *duration).rounded_ns() - begin.rounded_ns())
             : put_on_one_line(to, fields.dur);
  }
  const auto put_text = [&to, is_one_line](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    to = trace::put_literal(to, key);
    to = put_value(to, value, is_one_line);
  };
  put_text(",\"ph\":", fields.ph);
  put_text(",\"cat\":", fields.cat);
  put_text(",\"name\":", fields.name);
  to = trace::put_literal(to, ",\"pid\":");
  to = trace::put_integer(to, process.pid);
  to = trace::put_literal(to, ",\"tid\":");
  to = trace::put_integer(to, tid);
  to = put_ids(to, fields, process);
  to = put_rest(to, fields, event, is_one_line);
  to = trace::put_literal(to, "},\n");
  runs_.commit(static_cast<std::size_t>(to - start), ts_ns);
}

char* EventLines::put_ids(char* to, const Fields& fields, const Process& process) const {
  if (!fields.id.empty()) {
    to = trace::put_literal(to, ",\"id\":");
    to = is_of_process(fields.ph) ? put_on_one_line(to, fields.id)
                                  : put_id(to, process.rank, fields.id);
  }
  if (!fields.id2.empty()) {
    to = put_id2(trace::put_literal(to, ",\"id2\":"), process.rank, fields.id2);
  }
  if (!fields.bind_id.empty()) {
    to = put_id(trace::put_literal(to, ",\"bind_id\":"), process.rank, fields.bind_id);
  }
  return to;
}

char* EventLines::put_rest(char* to, const Fields& fields, const ScannedObject& event,
                           bool is_one_line) {
  std::size_t index = 0;
  for (const JsonMember& member : event.members) {
    if (!fields.is_other(index++, member)) continue;
    to = trace::put_literal(to, ",\"");
    to = put_short(to, member.key);
    to = trace::put_literal(to, "\":");
    to = put_value(to, member.value, is_one_line);
  }
  return to;
}

EventLines::Process& EventLines::process_of(std::string_view pid, std::string_view name) {
  std::int64_t number = 0;
  if (is_string(pid) && whole_number(pid, number)) pid = inside(pid);
  if (latest_ == nullptr || latest_pid_ != pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end() && !has_room(pid.size())) return crowd();
    latest_ = found != processes_.end() ? &found->second : &new_process(pid, name);
    latest_pid_ = pid;
  }
  return *latest_;
}

// For a lane and what it is called. A file of as many as events would else take all memory.
bool EventLines::has_room(std::size_t bytes) {
  constexpr std::size_t lane_bytes = 512;
  const std::size_t sum = lane_bytes_ + lane_bytes + 4 * bytes;
  if (sum <= most_lane_bytes) lane_bytes_ = sum;
  return sum <= most_lane_bytes;
}

// All that have no room are one process.
EventLines::Process& EventLines::crowd() {
  ++counts_.crowded;
  if (crowd_ == nullptr) {
    crowd_ = &new_process("\"other processes\"");
  }
  return *crowd_;
}

EventLines::Process& EventLines::new_process(std::string_view pid, std::string_view name) {
  Process process;
  std::int64_t number = 0;
  const bool is_number = whole_number(pid, number);
  const bool is_rank = is_number && number >= 0 && number < trace::pids_of_claim;
  process.rank = owner_.rank_is_pid && is_rank ? number : owner_.rank;
  const std::string of_writer =
      owner_.writer + "/" + std::string(name.empty() ? inside(pid) : name);
  process.pid = pids_.pid(process.rank, owner_.kind, owner_.writer.empty() ? pid : of_writer);
  process.shown = is_number ? "process " + std::to_string(number) : as_name(pid);
  ranks_.insert(process.rank);
  return processes_.emplace(std::string(pid), std::move(process)).first->second;
}

std::int64_t EventLines::tid_of(Process& process, std::string_view tid) {
  std::int64_t number = 0;
  if (tid.empty() || whole_number(tid, number)) return number;
  const auto found = process.tids.find(tid);
  if (found != process.tids.end()) return found->second;
  number = static_cast<std::int64_t>(event::hash_text(tid) % named_tids) + first_named_tid;
  if (!has_room(tid.size())) {
    ++counts_.crowded;
    return number;
  }
  while (process.unnamed.contains(number)) ++number;
  const std::string name = as_name(tid);
  process.unnamed[number] = name.empty() ? "(no name)" : name;
  process.tids.emplace(tid, number);
  return number;
}

void EventLines::add_metadata(const Fields& fields, const ScannedObject& event) {
  ++counts_.metadata_events;
  const std::string_view name = inside(fields.name);
  const std::string_view args = trace::member(event.text, "args").value_or("");
  const bool is_name = name == "process_name";
  Process& process = process_of(
      fields.pid, is_name ? trace::string_member(args, "name").value_or("") : std::string_view());
  if (is_name && &process == crowd_) {
    // Each of them has another.
  } else if (is_name) {
    if (metadata_bytes_ + args.size() > most_metadata_bytes) return drop("metadata_full");
    metadata_bytes_ += args.size();
    process.name = trace::string_member(args, "name").value_or(process.name);
  } else if (name == "process_sort_index") {
    process.sort_index = number_in(trace::member(args, "sort_index").value_or(""));
  } else {
    keep_metadata_line(process, fields, event);
  }
  if (name == "clock_sync_timestamp_us" || name == "clock_sync_error_bound") {
    described_[std::string(name)] = args;
  }
}

// As it stands, but for its time, which says nothing.
void EventLines::keep_metadata_line(Process& process, const Fields& fields,
                                    const ScannedObject& event) {
  const std::int64_t tid = tid_of(process, fields.tid);
  std::string line(event.text.size() + frame_bytes, '\0');
  char* to = trace::put_literal(line.data(), R"({"ph":"M","name":)");
  to = put_on_one_line(to, fields.name.empty() ? "\"\"" : fields.name);
  to = trace::put_integer(trace::put_literal(to, ",\"pid\":"), process.pid);
  to = trace::put_integer(trace::put_literal(to, ",\"tid\":"), tid);
  to = put_rest(put_ids(to, fields, process), fields, event, false);
  *to++ = '}';
  line.resize(static_cast<std::size_t>(to - line.data()));
  if (metadata_bytes_ + line.size() > most_metadata_bytes) return drop("metadata_full");
  metadata_bytes_ += line.size();
  if (fields.name == "\"thread_name\"") process.unnamed[tid].clear();
  const auto [place, is_new] = metadata_.insert(std::move(line));
  if (is_new) metadata_order_.push_back(&*place);
}

std::vector<std::string> EventLines::metadata_lines() const {
  std::vector<std::string> lines;
  const auto add = [&lines](const char* name, std::int64_t pid, std::int64_t tid,
                            const trace::JsonObject& args) {
    lines.push_back(std::string(R"({"ph":"M","name":")") + name +
                    "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) +
                    ",\"args\":" + args.text() + "}");
  };
  const auto quoted = [](const std::string& text) {
    return trace::JsonValue::raw("\"" + text + "\"");
  };
  for (const auto& [key, process] : processes_) {
    std::string name = process.name.empty() ? process.shown : process.name;
    name = "rank " + std::to_string(process.rank) + ": " + (name.empty() ? "(no name)" : name);
    add("process_name", process.pid, 0, trace::JsonObject().add("name", quoted(name)));
    const double place = place_beside(process.rank, process.sort_index.value_or(0.0));
    add("process_sort_index", process.pid, 0, trace::JsonObject().add("sort_index", place));
    for (const auto& [tid, thread] : process.unnamed) {
      if (thread.empty()) continue;
      add("thread_name", process.pid, tid, trace::JsonObject().add("name", quoted(thread)));
    }
  }
  for (const std::string* line : metadata_order_) lines.push_back(*line);
  return lines;
}

}  // namespace traceagent::tools
