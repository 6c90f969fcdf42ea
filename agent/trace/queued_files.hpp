#pragma once
// The queue of uploads, as the job sees it: no tree is built of its records.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "agent/trace/journal_reader.hpp"

namespace traceagent::trace {

struct QueuedFile {
  std::string id;
  bool is_uploaded = false;
  std::int64_t modified_ns = 0;  // CLOCK_REALTIME, of what was uploaded; 0: nobody knows
};

// Files that a journal says are here: they wait, or are uploaded and kept. Read as it grows, in
// memory for these alone.
class QueuedFiles {
 public:
  // Of all processes, or of one.
  explicit QueuedFiles(const std::string& journal, std::optional<std::int64_t> process = {});

  // What was appended since. False: it cannot be read; then what is known may be too old.
  bool read();

  // By the file's name in the folder; null: it is not queued, or gone. Of a file that was queued
  // again the latest.
  const QueuedFile* find(const std::string& file) const;
  std::size_t waiting() const noexcept { return waiting_; }
  std::size_t uploaded() const noexcept { return files_.size() - waiting_; }
  // Those in memory, with what is over.
  std::size_t known() const noexcept { return files_.size() + over_.size(); }
  std::uint64_t bytes_read() const noexcept { return reader_.bytes_read(); }

 private:
  void take(std::string_view line);
  void take_queued(std::string_view id, std::string_view line);
  void take_uploaded(std::string_view id, std::string_view line);
  void forget(std::string_view id);
  void remember_over(const std::string& id);
  void begin_anew();

  // Who merges and the rank itself may each queue a file under one id, at about the same time: the
  // latest that are over are known.
  static constexpr std::size_t most_over = 1000;

  struct Place {
    std::string file;
    bool is_kept = false;  // by output.keep, until the journal says that it is removed
  };
  JournalReader reader_;
  const std::optional<std::int64_t> process_;
  std::unordered_map<std::string, QueuedFile> files_;
  std::unordered_map<std::string, Place> places_;  // by their ids
  std::unordered_set<std::string> over_;
  std::deque<std::string> over_in_order_;
  std::size_t waiting_ = 0;
};

// Files of the queue that are neither uploaded nor gone.
std::size_t pending_uploads(const std::string& journal);

}  // namespace traceagent::trace
