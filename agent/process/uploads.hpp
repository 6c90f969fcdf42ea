#pragma once
// What becomes of finished files: the queue of uploads, the process that works it off, and
// output.keep. The job waits for none of it: if uploads lag behind, files stay on the disk, as far
// as upload.queue and budget.disk allow.

#include <string>

#include "agent/drain/rank_file.hpp"
#include "agent/trace/upload_journal.hpp"

namespace traceagent::process {

struct Agent;
struct NodeInputs;

// A rank file is written. Before it is noted in the ring's list: what recovery finds there is
// queued, or noted there as waiting. Memory that runs out costs the upload alone.
void queue_rank_file(Agent& agent, const ring::Window& window,
                     const drain::RankFileReport& report) noexcept;

// Who merges holds keep.lock where there is one: made before there is a file that may go.
void before_rank_file(const Agent& agent) noexcept;

// It is queued and noted. Starts the uploader where none is at work; without output.remote it
// removes what output.keep does not keep.
void after_rank_file(Agent& agent, const drain::RankFileReport& report);

// Where none is at work for that host.
void start_uploader(const Agent& agent, const std::string& host);

// No more will be written: what could not be queued is tried again, and what could not be removed
// while others merged goes now.
void after_last_rank_file(Agent& agent);

// The last try, before the ring or its list may go: what cannot be queued is said.
void finish_queue(Agent& agent);

// At the end of this process: waits for uploads as long as upload.wait says, and tells of their
// problem.
void finish_uploads(Agent& agent);

// Who removes a rank file of this process has it. `may_wait`: two seconds for those who merge.
trace::FileLock removal_lock(const Agent& agent);
bool lock_for_removal(const Agent& agent, trace::FileLock& lock, bool may_wait);
// A rank file; true: it is gone. False: it stays, which is said once.
bool remove_from_disk(const Agent& agent, const std::string& path);
// It is removed; also without having been uploaded.
void forget_file(Agent& agent, const std::string& path, bool is_uploaded);

// Held while rank files are read for a merge: nobody removes one meanwhile.
class RankFilesHeld {
 public:
  explicit RankFilesHeld(const Agent& agent);

  // False where another process, of another container, reads them for a merge too.
  bool hold_alone() noexcept { return lock_.try_upgrade(); }

 private:
  trace::FileLock lock_;
};

// The node's file is made of these files, and nobody will add to it: rank files that output.keep: 0
// leaves to it go, where there is no output.remote. Those that others read stay: they may gather
// fewer than this process, and write the node's file after it.
void after_node_file(Agent& agent, const std::string& path, const NodeInputs& inputs,
                     RankFilesHeld& held);

// Of files that were written, those that output.keep has removed.
void forget_removed(const Agent& agent, std::vector<std::string>& files);

}  // namespace traceagent::process
