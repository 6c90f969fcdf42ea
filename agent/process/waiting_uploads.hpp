#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "agent/trace/journal_reader.hpp"

namespace traceagent::process {

// What a host's queue of uploads has still to send (agent/trace/upload_journal.hpp), of each run:
// several may use one folder. Read as it grows; in memory for what the journal holds, which its
// uploader keeps short.
class WaitingUploads {
 public:
  explicit WaitingUploads(const std::string& journal);

  // What was appended since. False: it cannot be read.
  bool read();

  [[nodiscard]] std::size_t all() const noexcept { return waiting_.size(); }
  [[nodiscard]] std::size_t of_run(std::string_view run_key) const;
  [[nodiscard]] bool has_commands() const;

 private:
  void take(std::string_view line);
  void take_queued(std::string id, std::string_view line);
  void forget(const std::string& id);

  struct Waiting {
    std::string id, run;
    bool is_command = false;
  };
  trace::JournalReader reader_;
  // By what a later record would replace: of a rank's file any, of others that to the same place.
  std::unordered_map<std::string, Waiting> waiting_;
  std::unordered_map<std::string, std::string> place_of_id_;
  std::unordered_set<std::string> over_;  // who merges may queue a file once more under its id
};

}  // namespace traceagent::process
