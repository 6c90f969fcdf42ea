#pragma once
// The journals of uploads hear that a node's file is made: rank files that were kept for it may go.

#include <string>
#include <vector>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// output.keep is set: a file of the run that is gone may be one of those that were not to be kept.
// Where it is not, no file waits for uploads, and the uploader ends the sooner for it.
bool removes_files(const ring::Ring& ring);

struct EndOfRun {
  std::string problem;             // one line, or ""
  std::vector<std::string> hosts;  // others than this one, whose journals now tell of it
};

// Of the files that the node's file is made of.
struct MergedFiles {
  std::vector<std::string> all;
  // Not known to be of this host: for one that is not in its journal those of all hosts are read. A
  // container of the same node may have a name of its own.
  std::vector<std::string> elsewhere;
};

// By their names: this host's journal may be another node's too, whose ranks run on.
EndOfRun queue_end_of_run(const ring::Ring& ring, const MergedFiles& files);

}  // namespace traceagent::drain
