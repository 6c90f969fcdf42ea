#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "agent/drain/upload_queue.hpp"

namespace traceagent::process {

struct Agent;

// Finished files on their way into the queue of uploads. None is left out silently: what cannot be
// queued now (a full disk, a journal that somebody holds) is tried again with each later file and
// at the end; what stays out is said by its process and noted in the run's index. Of a node the
// first failure is said at once: a run may last for days. Meanwhile they are noted beside the ring:
// where this process is killed, who recovers it queues them; and of very many the oldest are there
// alone. What can never be queued, by its options, is in the index too, and one process of the node
// says it.
class UnqueuedFiles {
 public:
  // Behind those that wait: the journal's order is that of the cycles. Without a record and a
  // problem those alone.
  void queue(Agent& agent, drain::UploadRequest request);
  // True if it has queued any.
  bool try_again(const Agent& agent);
  // The last attempt, while the ring's list is there. True if it has queued any.
  bool finish(Agent& agent);
  bool has_left_out() const noexcept { return !first_left_out_.empty(); }

 private:
  struct Waiting {
    drain::UploadRequest request;
    bool is_noted;  // beside the ring
  };

  void wait(Agent& agent, drain::UploadRequest request);
  void note_newest(Agent& agent);
  bool queue_noted(const Agent& agent);
  void forget_noted(const Agent& agent);
  std::vector<std::string> paths_of_all(const Agent& agent) const;
  void never_queue(Agent& agent, const drain::UploadRequest& request);
  void leave_out(const std::vector<std::string>& paths);

  std::deque<Waiting> waiting_;   // the newest
  std::size_t noted_alone_ = 0;   // older ones
  std::size_t noted_queued_ = 0;  // of all that are noted, by now: the oldest
  bool has_noted_ = false;
  std::string problem_;         // the last attempt's
  std::string first_left_out_;  // its problem and path
  std::size_t left_out_ = 0;
};

}  // namespace traceagent::process
