#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// A "problem" in "incomplete": of a file that is whole, and does not say that it is complete.
inline constexpr char writer_lost_something[] = "its writer says that something is missing";
// So begins that of a file of others' of which all was read, and nobody can tell whether there was
// more.
inline constexpr char not_closed[] = "an array of events that is not closed";

// Of a rank: mostly its run key has come again, and two runs were taken for one.
inline constexpr char of_several_processes[] =
    "is of several processes of one number, whose lanes and arrows are mixed: each one's own file "
    "shows it alone; where they are of several runs of one key, merge each run's files by "
    "themselves";

// So begins a "file" in "incomplete": the node's number follows. Ranks of it are missing whose own
// numbers nobody knows; each merge that asks for all ranks looks anew.
inline constexpr char ranks_of_node_mark[] = "ranks of node ";

// So begins a "file" in "incomplete": what merge.include names, of which nothing is in the file.
inline constexpr char include_mark[] = "merge.include: ";

// "traceagent" of the merged file: {"merged": [each rank's and cycle's own], "events": n,
// "dropped":
// {...}, "missing_ranks": [...], "incomplete": [{"file", "problem"}], what the caller adds}. Each
// element of "merged" is on a line of its own. Completes `report` from what the ranks say.
std::string merged_metadata(const std::vector<MergeInput>& inputs, const MergeOptions& options,
                            MergeReport& report);

}  // namespace traceagent::trace
