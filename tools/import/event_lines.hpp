#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/import/exact_time.hpp"
#include "tools/import/foreign_ids.hpp"
#include "tools/import/object_scan.hpp"
#include "tools/import/sorted_runs.hpp"

namespace traceagent::tools {

// Whose events they are.
struct EventOwner {
  ForeignKind kind = ForeignKind::chrome;
  std::int64_t rank = 0;
  // Composer's merged files hold several ranks, each the "pid" of its events.
  bool rank_is_pid = false;
  // Processes of one number in files of two of these writers are two, and those of one name in two
  // files of one writer are one, whatever their numbers (SageMakerName). Empty: the numbers count.
  std::string writer = {};
};

// How a file's times become those of its lines. From epoch_ns on they count from 1970: no monotonic
// clock of a machine has counted that far, and since 2001 all times have.
struct EventTimes {
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000'000'000;

  std::int64_t shift_ns = 0;
  std::int64_t relative_ns = 0;  // added to those that do not count from 1970
};

// What of a file was written, and what was not and why.
struct EventCounts {
  std::uint64_t events = 0;
  std::uint64_t metadata_events = 0;
  std::uint64_t empty = 0;     // {}: with it TensorFlow ends its list; no loss
  std::uint64_t repaired = 0;  // it was no JSON as it stood
  std::uint64_t crowded = 0;   // in a lane of those that had no room for their own
  std::map<std::string, std::uint64_t> dropped;  // by cause
};

// Writes other people's events as lines of our own form (trace/event_writer.hpp): times relative to
// shift_ns() and exact, "ts" first, processes and ids unique over ranks, texts as numbers where we
// have numbers, the names in metadata events. All else stands as it stood, but for line breaks.
class EventLines {
 public:
  static constexpr std::size_t most_metadata_bytes = std::size_t{4} << 20;
  // What the processes and threads of a file may take up; beyond, they share.
  static constexpr std::size_t most_lane_bytes = std::size_t{4} << 20;

  // Without `times` the first event decides on them.
  EventLines(const EventOwner& owner, ForeignPids& pids, SortedRuns& runs,
             std::optional<EventTimes> times = {})
      : owner_(owner), pids_(pids), runs_(runs), times_(times) {}

  // Valid JSON (DocumentScan's), with TextWindow's padding behind it.
  void add(const ScannedObject& event);
  void drop(const char* cause) { ++counts_.dropped[cause]; }

  // {"ph":"M",...} for the head of the file; after the last event.
  [[nodiscard]] std::vector<std::string> metadata_lines() const;
  [[nodiscard]] EventCounts& counts() { return counts_; }
  // Added to what stands in the lines it gives the file's own times, in ns. Not 0 where those are
  // too large for a double.
  [[nodiscard]] std::int64_t shift_ns() const { return times_.value_or(EventTimes()).shift_ns; }
  // The earliest times that count from 1970, and that do not, as they stand in the file. Where it
  // has both, the first event alone cannot decide.
  [[nodiscard]] const std::optional<std::int64_t>& first_epoch_ns() const {
    return first_epoch_ns_;
  }
  [[nodiscard]] const std::optional<std::int64_t>& first_relative_ns() const {
    return first_relative_ns_;
  }
  // An hour before a time: events need not be in order, and earlier ones stay positive.
  static std::int64_t shift_before(std::int64_t ns);
  // Some event may be one that clocks are aligned by (clocks/collective_line.hpp).
  [[nodiscard]] bool may_have_collectives() const { return may_have_collectives_; }
  [[nodiscard]] const std::set<std::int64_t>& ranks() const { return ranks_; }
  // Of metadata events that describe the file, the last of each: their "args" as they stand.
  [[nodiscard]] const std::map<std::string, std::string>& described() const { return described_; }

 private:
  struct Process {
    std::int64_t rank = 0;
    std::int64_t pid = 0;
    std::string shown;  // as the file calls it
    std::string name;   // JSON string without quotes
    std::optional<double> sort_index;
    std::map<std::string, std::int64_t, std::less<>> tids;  // of names
    std::map<std::int64_t, std::string> unnamed;            // tid -> JSON string
  };
  struct Fields;

  bool has_room(std::size_t bytes);
  // `name`: what it is called, where that is being told; JSON string without quotes.
  Process& process_of(std::string_view pid, std::string_view name = {});
  Process& new_process(std::string_view pid, std::string_view name = {});
  Process& crowd();
  std::int64_t tid_of(Process& process, std::string_view tid);
  void add_metadata(const Fields& fields, const ScannedObject& event);
  void keep_metadata_line(Process& process, const Fields& fields, const ScannedObject& event);
  void write(const Fields& fields, const ScannedObject& event, std::int64_t ts_ns,
             const ExactTime& begin);
  char* put_ids(char* to, const Fields& fields, const Process& process) const;
  static char* put_rest(char* to, const Fields& fields, const ScannedObject& event,
                        bool is_one_line);

  EventOwner owner_;
  ForeignPids& pids_;
  SortedRuns& runs_;
  EventCounts counts_;
  std::optional<EventTimes> times_;
  std::optional<std::int64_t> first_epoch_ns_;
  std::optional<std::int64_t> first_relative_ns_;
  std::set<std::int64_t> ranks_;
  std::map<std::string, std::string> described_;
  std::map<std::string, Process, std::less<>> processes_;
  std::string latest_pid_;
  Process* latest_ = nullptr;
  Process* crowd_ = nullptr;
  std::size_t lane_bytes_ = 0;
  std::set<std::string> metadata_;
  std::vector<const std::string*> metadata_order_;
  std::size_t metadata_bytes_ = 0;
  bool may_have_collectives_ = false;
};

}  // namespace traceagent::tools
