#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/import/event_text.hpp"
#include "tools/import/foreign_lanes.hpp"
#include "tools/import/mark_batches.hpp"
#include "tools/import/order_check.hpp"
#include "tools/import/sorted_runs.hpp"

namespace traceagent::tools {

// What of a file was written, and what was not and why.
struct EventCounts {
  std::uint64_t events = 0;
  std::uint64_t metadata_events = 0;
  std::uint64_t empty = 0;     // {}: with it TensorFlow ends its list; no loss
  std::uint64_t repaired = 0;  // it was no JSON as it stood
  std::uint64_t crowded = 0;   // in a lane of those that had no room for their own
  std::uint64_t relative = 0;  // their times do not count from 1970
  std::map<std::string, std::uint64_t> dropped;  // by cause
};

// What is known of a foreign file's events when all were seen. They become lines of our own form:
// times relative to shift_ns() and exact, "ts" first, processes and ids unique over ranks, texts as
// numbers where we have numbers, the names in metadata events. All else stands as it stood, but for
// line breaks.
class EventLines {
 public:
  static constexpr std::size_t most_metadata_bytes = std::size_t{4} << 20;

  // Without `times` the first event decides on them.
  EventLines(const EventOwner& owner, ForeignPids& pids, std::optional<EventTimes> times = {})
      : lanes_(std::make_shared<ForeignLanes>(owner, pids)),
        has_fingerprints_(owner.rank_is_pid),
        times_(times) {}

  // Valid JSON (DocumentScan's), with TextWindow's padding behind it. The line goes into `runs`.
  void add(const ScannedObject& event, SortedRuns& runs);
  // There is to be a line: whoever asks ImportedEvents for it.
  void add(const ScannedObject& event, OrderCheck& order);
  void drop(const char* cause) { ++counts_.dropped[cause]; }

  // {"ph":"M",...} for the head of the file; after the last event.
  [[nodiscard]] std::vector<std::string> metadata_lines() const;
  [[nodiscard]] EventCounts& counts() { return counts_; }
  [[nodiscard]] const std::shared_ptr<ForeignLanes>& lanes() const { return lanes_; }
  [[nodiscard]] EventTimes times() const { return times_.value_or(EventTimes()); }
  // Added to what stands in the lines it gives the file's own times, in ns. Not 0 where those are
  // too large for a double.
  [[nodiscard]] std::int64_t shift_ns() const { return times().shift_ns; }
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
  // Of metadata events that describe the file, the last of each: their "args" as they stand.
  [[nodiscard]] const std::map<std::string, std::string>& described() const { return described_; }
  // Numbers of processes that are programs, as PyTorch labels them, not GPUs.
  [[nodiscard]] const std::set<std::int64_t>& program_pids() const { return program_pids_; }

 private:
  // Nothing: no line comes of it.
  std::optional<ExactTime> time_of(const ForeignEvent& fields, const ScannedObject& event);
  EventPlace place_of(const ForeignEvent& fields, const ExactTime& begin);
  void add_metadata(const ForeignEvent& fields, const ScannedObject& event);
  void keep_metadata_line(ForeignLanes::Process& process, const ForeignEvent& fields,
                          const ScannedObject& event);

  std::shared_ptr<ForeignLanes> lanes_;
  bool has_fingerprints_;
  EventCounts counts_;
  KnownForms forms_;
  std::optional<EventTimes> times_;
  std::optional<std::int64_t> first_epoch_ns_;
  std::optional<std::int64_t> first_relative_ns_;
  std::map<std::string, std::string> described_;
  std::set<std::string> metadata_;
  std::vector<const std::string*> metadata_order_;
  std::size_t metadata_bytes_ = 0;
  bool may_have_collectives_ = false;
  MarkBatches mark_batches_;
  std::set<std::int64_t> program_pids_;
};

}  // namespace traceagent::tools
