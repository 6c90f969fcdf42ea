#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "agent/drain/upload_queue.hpp"

namespace traceagent::process {

struct Agent;

// Finished files on their way into the queue of uploads. None is left out silently: what cannot be
// queued now (a full disk, a journal that somebody holds) is tried again with each later file and
// at the end; what stays out is said by its process and noted in the run's index. Of a node the
// first failure is said at once: a run may last for days.
class UnqueuedFiles {
 public:
  // Behind those that wait: the journal's order is that of the cycles.
  void queue(const Agent& agent, drain::UploadRequest request);
  // The last attempt. True if it has queued any.
  bool finish(const Agent& agent);

 private:
  void queue_waiting(const Agent& agent);
  void leave_out(const Agent& agent, const std::string& problem, const std::string& path);

  std::deque<drain::UploadRequest> waiting_;
  std::string problem_;        // the last attempt's
  std::string first_problem_;  // of what was left out
  std::size_t left_out_ = 0, left_out_said_ = 0;
};

}  // namespace traceagent::process
