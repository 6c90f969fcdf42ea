#pragma once
// The node's file of a run whose processes are all dead: nobody was left to make it.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace traceagent::tools {

struct NodeFile {
  std::string path;                // empty: the run wanted none, or has no files at all
  std::string problem;             // one line: it could not be made
  std::string summary;             // "4 ranks, 1234 events, 2 events lost (ring_full 2)"
  std::vector<std::string> notes;  // one line each, of inputs that are cut
  std::vector<std::int64_t> missing_ranks;
  std::string missing_of_node;   // in words, where nobody knows their numbers
  std::set<std::int64_t> ranks;  // that are in it
  std::string include;           // merge.include: of what it names nothing is in the file
  // Of a run of several nodes: of a file that names no rank they agree here whose it is; or empty.
  std::string include_once;
};

// Merges what the rings' processes have written and what was recovered of them, with the other
// files of the run and node in the same folder, as the process that made the rings would have done.
// A node file of the same run is replaced: this one holds all that it holds. One that is there
// already and up to date is made again. Call after the rings are recovered, before they go.
NodeFile make_node_file(const std::vector<std::string>& rings_of_run);

}  // namespace traceagent::tools
