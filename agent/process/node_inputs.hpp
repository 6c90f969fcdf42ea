#pragma once
// What a node's file is made of: the rank files of all its processes, living, ended and dead.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/process/node_view.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::process {

struct Agent;

struct NodeInputs {
  std::vector<std::string> files;      // each once
  std::set<std::string> known;         // the same
  std::vector<std::string> elsewhere;  // of the files, those that other hosts may have queued
  std::set<std::int64_t> ranks;
  std::vector<std::string> unfinished;          // "rank 1", "a worker of rank 0": alive still
  std::vector<std::string> unfinished_private;  // lost if they are killed
  bool may_lack_files = false;                  // somebody's list is not whole
  bool lost_all = false;                        // all of this process's own are gone
  std::vector<trace::Unfinished> kept;          // their rings hold what could not be written
  std::size_t cycles_in_memory = 0;             // of those that have ended

  bool all_ended() const noexcept { return unfinished.empty() && unfinished_private.empty(); }
};

// What the rings tell of. Those of the dead are recovered, which is said. Call with the rank files
// held.
NodeInputs gather_inputs(Agent& agent, const NodeView& node);

// What no ring tells of: files of ranks in other containers, of processes of this run that ended
// before this one began, and of ranks whose list found no room. Looked for in the output folder,
// and, as some may lie in others, in the run's index.
void add_files_of_folder(const Agent& agent, NodeInputs& inputs);

// Whether some of the node's ranks have no file.
bool lacks_ranks(const Agent& agent, const NodeInputs& inputs);

// The ring stays: what could not be written waits there.
bool is_kept(const Agent& agent, const std::string& ring_path);

// Their files lie in the output folder then, for who merges there.
void recover_dead(Agent& agent, const NodeView& node);

// One line where the view is not whole.
void say_unread(const NodeView& node);

}  // namespace traceagent::process
