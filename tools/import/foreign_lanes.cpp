#include "tools/import/foreign_lanes.hpp"

#include <cmath>

#include "agent/event/hash.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_event.hpp"

namespace traceagent::tools {

namespace {

// Of named threads; where a trace of ours has none.
constexpr std::int64_t first_named_tid = 8'000'000;
constexpr std::int64_t named_tids = 1'000'000;
constexpr std::int64_t behind_pids = std::int64_t{1} << 31;  // those that we give
constexpr char crowd_pid[] = "\"other processes\"";

// For between quotes. What is no string, an object say, may have quotes of its own.
std::string as_name(std::string_view json) {
  if (is_json_string(json)) return std::string(inside_quotes(json));
  const std::string quoted = trace::JsonValue(json).text();
  return std::string(inside_quotes(quoted));
}

// Between the rank and the next, in the file's own order: Kineto has GPUs behind the host.
double place_beside(std::int64_t rank, double sort_index) {
  return static_cast<double>(rank) + 0.5 + 0.4 * sort_index / (std::abs(sort_index) + 1e7);
}

// For a lane and what it is called.
std::size_t bytes_of_lane(std::size_t name_bytes) { return 512 + 4 * name_bytes; }

// A number, however it is written, and a text of the same digits are one process.
std::string_view key_of(std::string_view pid) {
  std::int64_t number = 0;
  if (!is_json_string(pid)) return without_zero_fraction(pid);
  return whole_number(pid, number) ? inside_quotes(pid) : pid;
}

// Before it gives way to others of the same number.
std::int64_t first_tid_of(std::string_view name) {
  return static_cast<std::int64_t>(event::hash_text(name) % named_tids) + first_named_tid;
}

}  // namespace

ForeignLanes::Process& ForeignLanes::process_of(std::string_view pid, std::string_view name) {
  const std::string_view key = key_of(pid);
  if (latest_ == nullptr || latest_pid_ != key) {
    const auto found = processes_.find(key);
    Process* const process = found != processes_.end() ? &found->second : new_process(key, name);
    if (process == nullptr) return crowd();
    latest_ = process;
    latest_pid_ = key;
  }
  return *latest_;
}

// What had no room or no number then has none now: both only become less.
const ForeignLanes::Process* ForeignLanes::find(std::string_view pid) const {
  const auto found = processes_.find(key_of(pid));
  return found != processes_.end() ? &found->second : crowd_;
}

// A file of as many lanes as events would else take all memory.
bool ForeignLanes::has_room(std::size_t bytes) const {
  return used_bytes_ + bytes_of_lane(bytes) <= most_bytes;
}

ForeignLanes::Process& ForeignLanes::crowd() {
  if (crowd_ == nullptr) {
    Process process;
    process.rank = owner_.rank;
    process.pid = ForeignPids::pid_of_crowd(owner_.rank);
    process.shown = as_name(crowd_pid);
    ranks_.insert(process.rank);
    crowd_ = &processes_.emplace(crowd_pid, std::move(process)).first->second;
  }
  return *crowd_;
}

// Null: there is no room for it, or no number.
ForeignLanes::Process* ForeignLanes::new_process(std::string_view pid, std::string_view name) {
  if (!has_room(pid.size())) return nullptr;
  Process process;
  std::int64_t number = 0;
  const bool is_number = whole_number(pid, number);
  const bool is_rank =
      owner_.rank_is_pid && is_number && number >= 0 && number < trace::pids_of_claim;
  process.is_own = is_number && number >= 0 && number < behind_pids &&
                   owner_.own_ranks.contains(trace::rank_of_pid(number));
  process.rank = is_rank ? number : process.is_own ? trace::rank_of_pid(number) : owner_.rank;
  const std::string of_writer =
      owner_.writer + "/" + std::string(name.empty() ? inside_quotes(pid) : name);
  const std::string_view called = owner_.writer.empty() ? pid : std::string_view(of_writer);
  const std::optional<std::int64_t> given = process.is_own ? number
                                            : is_rank
                                                ? ForeignPids::pid_of_rank(number)
                                                : pids_.pid(process.rank, owner_.kind, called);
  if (!given) return nullptr;
  if (!process.is_own && !is_rank) process.identity = ForeignPids::identity(owner_.kind, called);
  used_bytes_ += bytes_of_lane(pid.size());
  process.pid = *given;
  process.shown = is_number ? "process " + std::to_string(number) : as_name(pid);
  ranks_.insert(process.rank);
  return &processes_.emplace(std::string(pid), std::move(process)).first->second;
}

ForeignLanes::Thread ForeignLanes::thread_of(Process& process, std::string_view tid) {
  std::int64_t number = 0;
  if (tid.empty() || whole_number(tid, number)) return {number};
  const auto found = process.tids.find(tid);
  if (found != process.tids.end()) return {found->second};
  number = first_tid_of(tid);
  if (!has_room(tid.size())) return {number, true};
  used_bytes_ += bytes_of_lane(tid.size());
  while (process.unnamed.contains(number)) ++number;
  const std::string name = as_name(tid);
  process.unnamed[number] = name.empty() ? "(no name)" : name;
  process.tids.emplace(tid, number);
  return {number};
}

std::int64_t ForeignLanes::find_tid(const Process& process, std::string_view tid) {
  std::int64_t number = 0;
  if (tid.empty() || whole_number(tid, number)) return number;
  const auto found = process.tids.find(tid);
  return found != process.tids.end() ? found->second : first_tid_of(tid);
}

Fingerprints ForeignLanes::fingerprints() const {
  Fingerprints ranks;
  for (const auto& [key, process] : processes_) {
    if (process.fingerprint.events > 0) ranks[process.rank].add(process.fingerprint);
  }
  return ranks;
}

std::vector<std::string> ForeignLanes::metadata_lines() const {
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
    if (!process.is_own) {
      name = "rank " + std::to_string(process.rank) + ": " + (name.empty() ? "(no name)" : name);
    }
    trace::JsonObject args;
    args.add("name", quoted(name));
    if (!process.identity.empty()) args.add(imported_from, quoted(process.identity));
    add("process_name", process.pid, 0, args);
    const double place = process.is_own
                             ? process.sort_index.value_or(static_cast<double>(process.pid))
                             : place_beside(process.rank, process.sort_index.value_or(0.0));
    add("process_sort_index", process.pid, 0, trace::JsonObject().add("sort_index", place));
    for (const auto& [tid, thread] : process.unnamed) {
      if (thread.empty()) continue;
      add("thread_name", process.pid, tid, trace::JsonObject().add("name", quoted(thread)));
    }
  }
  return lines;
}

}  // namespace traceagent::tools
