#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/drain/upload_queue.hpp"

namespace traceagent::process {

struct Agent;

// upload.queue: where output.keep lets uploaded files go, those that cannot be uploaded would fill
// the disk. Of this process's files that wait the oldest go, as of those that are kept; the newest
// never does. What goes is lost, so it is counted exactly, said, and noted in the journal and in
// the run's index. Bounded by the rank, with each file that it adds: an uploader may hang, or be
// missing.
class FullQueue {
 public:
  // While others merge it is put off. `may_wait`: not before they had two seconds.
  void bound(Agent& agent, bool may_wait);
  // At the end: how many.
  void say(const Agent& agent) const;

  std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  enum class LeftOut { done, on_its_way, failed };
  LeftOut leave_out(Agent& agent, const drain::WaitingFile& file, std::uint64_t bytes);

  std::uint64_t left_out_ = 0;
  std::uint64_t left_out_bytes_ = 0;
  std::string first_;
};

}  // namespace traceagent::process
