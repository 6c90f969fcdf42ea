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

// Of this host nothing of the run that was queued need wait for it any more; of a host that has
// queued some of the files `elsewhere`, these alone: it is a container of the same node with a name
// of its own, and its ranks may run on. `elsewhere`: of the node's file those that are not known to
// be of this host: for one that stands in no journal those of all hosts are read.
EndOfRun queue_end_of_run(const ring::Ring& ring, const std::vector<std::string>& elsewhere);

}  // namespace traceagent::drain
