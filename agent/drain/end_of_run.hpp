#pragma once
// The journals of uploads hear that a node's file is made: rank files that were kept for it may go.

#include <string>
#include <vector>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

struct EndOfRun {
  std::string problem;             // one line, or ""
  std::vector<std::string> hosts;  // others than this one, whose journals now tell of it
};

// `files`: what the node's file is made of. Of this host nothing of the run that was queued need
// wait for it any more; of a host that has queued some of the files, these alone: it is a container
// of the same node with a name of its own, and its ranks may run on.
EndOfRun queue_end_of_run(const ring::Ring& ring, const std::vector<std::string>& files);

}  // namespace traceagent::drain
