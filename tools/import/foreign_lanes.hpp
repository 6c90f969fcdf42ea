#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/import/foreign_ids.hpp"
#include "tools/import/rank_fingerprint.hpp"

namespace traceagent::tools {

// In "args" of a process_name: Process::identity.
inline constexpr char imported_from[] = "imported_from";

// Whose events they are.
struct EventOwner {
  ForeignKind kind = ForeignKind::chrome;
  std::int64_t rank = 0;
  // Composer's merged files hold several ranks, each the "pid" of its events.
  bool rank_is_pid = false;
  // Processes of one number in files of two of these writers are two, and those of one name in two
  // files of one writer are one, whatever their numbers (SageMakerName). Empty: the numbers count.
  std::string writer = {};
  // Of a file of ours that another program has saved: those whose pids it has. The pids stay.
  std::set<std::int64_t> own_ranks = {};
};

// The processes and threads of a foreign file, and what they are in ours.
class ForeignLanes {
 public:
  // What they may take up; beyond, they share.
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  struct Process {
    std::int64_t rank = 0;
    std::int64_t pid = 0;
    bool is_own = false;        // see EventOwner::own_ranks
    std::string shown;          // as the file calls it
    std::string name;           // JSON string without quotes
    std::string identity = {};  // ForeignPids::identity(), likewise; empty: it has none
    std::optional<double> sort_index;
    std::map<std::string, std::int64_t, std::less<>> tids;  // of names
    std::map<std::int64_t, std::string> unnamed;            // tid -> JSON string
    RankFingerprint fingerprint;
  };

  ForeignLanes(const EventOwner& owner, ForeignPids& pids) : owner_(owner), pids_(pids) {}
  ForeignLanes(const ForeignLanes&) = delete;
  ForeignLanes& operator=(const ForeignLanes&) = delete;

  // Those of an event, whose values `pid` and `tid` are; new ones are made. `name`: what the
  // process is called, where that is being told; JSON string without quotes.
  Process& process_of(std::string_view pid, std::string_view name = {});
  struct Thread {
    std::int64_t tid = 0;
    bool is_crowd = false;  // it had no room for a number of its own
  };
  Thread thread_of(Process& process, std::string_view tid);

  // Of a file of ours that another program has saved: what came to it from others' files has the
  // same number in all that is read after it.
  void keep(const Process& process) { pids_.keep(process.pid, process.identity); }

  // What the two above have said of these values. May be asked from several threads. Null: they
  // were never asked.
  [[nodiscard]] const Process* find(std::string_view pid) const;
  [[nodiscard]] static std::int64_t find_tid(const Process& process, std::string_view tid);

  // All processes that had no room, or no number, are one.
  [[nodiscard]] bool is_crowd(const Process& process) const { return &process == crowd_; }
  [[nodiscard]] const std::set<std::int64_t>& ranks() const { return ranks_; }
  // Of the events that were added to those of processes.
  [[nodiscard]] Fingerprints fingerprints() const;
  // {"ph":"M",...}: the names of all.
  [[nodiscard]] std::vector<std::string> metadata_lines() const;

 private:
  [[nodiscard]] bool has_room(std::size_t bytes) const;
  Process* new_process(std::string_view pid, std::string_view name);
  Process& crowd();

  EventOwner owner_;
  ForeignPids& pids_;
  std::set<std::int64_t> ranks_;
  std::map<std::string, Process, std::less<>> processes_;
  std::string latest_pid_;
  Process* latest_ = nullptr;
  Process* crowd_ = nullptr;
  std::size_t used_bytes_ = 0;
};

}  // namespace traceagent::tools
