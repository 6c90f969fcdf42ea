#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/trace/queued_files.hpp"

namespace traceagent::process {

struct Agent;
struct KeptFile;

// upload.queue: where output.keep lets uploaded files go, those that cannot be uploaded would fill
// the disk. It is the most of this process's rank files that are here, kept or waiting: uploaded
// ones go first, then of those that wait the oldest; the newest of all never does. What goes
// without having been uploaded is lost, so it is counted exactly, said, and noted in the journal
// and in the run's index. Bounded by the rank, with each file that it adds: an uploader may hang,
// or be missing.
class FullQueue {
 public:
  // While others merge it is put off. `may_wait`: not before they had two seconds.
  void bound(Agent& agent, bool may_wait);
  // At the end: how many.
  void say(const Agent& agent) const;

  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  enum class Result { gone, stays, failed };

  bool is_too_much(const Agent& agent) const;
  bool read_journal(const Agent& agent);
  const trace::QueuedFile* find(const Agent& agent, const KeptFile& file) const;
  bool remove_oldest(Agent& agent, bool is_uploaded);
  Result remove_uploaded(Agent& agent, const KeptFile& file, const std::string& id);
  Result leave_out(Agent& agent, const KeptFile& file);
  void say_first(const Agent& agent) const;

  std::optional<trace::QueuedFiles> queued_;  // once it was full
  std::uint64_t here_bytes_ = 0;              // those of kept_files
  std::uint64_t left_out_ = 0;
  std::uint64_t left_out_bytes_ = 0;
  std::string first_;
};

}  // namespace traceagent::process
