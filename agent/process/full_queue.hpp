#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/trace/queued_files.hpp"
#include "config/options.hpp"

namespace traceagent::process {

struct Agent;
struct KeptFile;

// upload.queue: where output.keep lets uploaded files go, those that cannot be uploaded would fill
// the disk. Of this process's files that wait the oldest go; the newest never does. And kept and
// waiting ones together are no more than half of budget.disk while any waits: there uploaded ones
// go first. What goes without having been uploaded is lost, so it is counted exactly, said, and
// noted in the journal and in the run's index. Bounded by the rank, with each file that it adds: an
// uploader may hang, or be missing.
class FullQueue {
 public:
  // While others merge it is put off. `may_wait`: not before they had two seconds.
  void bound(Agent& agent, bool may_wait);
  // At the end: how many.
  void say(const Agent& agent) const;

  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  enum class Result { gone, stays, failed };

  struct Held {
    std::uint64_t here_bytes = 0;  // kept_files
    std::uint64_t waiting_bytes = 0;
    std::size_t waiting_files = 0;
  };

  bool look(const Agent& agent);
  bool fills_disk(const config::Options& options) const;
  bool is_full(const config::Options& options) const;
  bool read_journal(const Agent& agent);
  const trace::QueuedFile* find(const Agent& agent, const KeptFile& file) const;
  bool remove_uploaded_ones(Agent& agent);
  void leave_out_oldest(Agent& agent);
  Result remove_uploaded(Agent& agent, const KeptFile& file, const std::string& id);
  Result leave_out(Agent& agent, const KeptFile& file);
  void say_first(const Agent& agent) const;

  std::optional<trace::QueuedFiles> queued_;  // once it was full
  Held held_;
  std::uint64_t left_out_ = 0;
  std::uint64_t left_out_bytes_ = 0;
  std::string first_;
};

}  // namespace traceagent::process
