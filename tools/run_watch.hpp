#pragma once

#include <string>

namespace traceagent::tools {

class FollowedRun;

enum class RunEnd {
  cleaned_up,   // by the run itself, or by who has recovered it
  left_rings,   // and nobody has come to take them
  is_its_child  // it goes on: this process has become the child of one of its own
};

// Returns when no process of the run lives any more, by whatever name its folder goes then. At once
// where a process of the run has taken this one in as an orphan: it may wait for the end of all its
// children, and would for ever.
RunEnd wait_for_end_of_run(const FollowedRun& run);

// What is printed from now on is kept, for a file which is no link. It is made, or added to, once
// something is worth it.
void print_for(const std::string& log);
// That moment: what was kept goes there, and all that is printed later. Nothing without
// print_for().
void open_log();

}  // namespace traceagent::tools
