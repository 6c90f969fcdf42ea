#pragma once
// What a process that ends sees of its node's other ranks.

#include <set>
#include <vector>

#include "agent/process/peers.hpp"
#include "agent/process/run_files.hpp"

namespace traceagent::process {

struct Agent;

struct NodeView {
  std::vector<Peer> peers;         // by their rings, or their notes
  std::vector<RunFile> strangers;  // files of ranks whose rings are not here: in other containers
  std::string problem;             // rings are here that cannot be read: one line

  bool all_gone() const;
  bool any_alive() const;
  // Whether nobody is waited for any more after so long. Second claimants of a rank are, until it
  // is late; of them this process' children for a moment alone, since those that outlive it may end
  // only when it has, and who started this process not at all: it may wait for this one's end.
  bool all_awaited_gone(std::uint64_t waited_ns) const;
  // The process that makes the node's file lives. Its end in good order is the end of all: whoever
  // still sees its ring then sees that it died before, or while it merged.
  bool has_living_zero() const;
};

// At once; strangers are not looked for.
NodeView look_at_node(const Agent& agent);

// Until all ranks of the node have finished, died, or cannot be seen to exist; at most
// `longest_ns`. Ranks whose rings are elsewhere are there when their files are, as many as this
// rank's own.
// A forked worker that uses CUDA too may wait for its parent's end: second claimants of a rank get
// a short while.
NodeView wait_for_node(const Agent& agent, std::uint64_t longest_ns);

// Local rank zero's ring is not here: does its file show up in the output folder? A short wait.
bool node_zero_is_elsewhere(const Agent& agent);

// The rank files of this run and node in this process's output folder.
NodeRankFiles node_rank_files(const Agent& agent);

}  // namespace traceagent::process
