#pragma once
// A process of an earlier run of the same key has this rank's number: the new rank is taken for one
// of its workers. A straggler, which the node file waits for; or one that was killed, if what it
// left was not told from this run's (older_run.hpp).

#include <string>

#include "agent/process/identity.hpp"
#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// For a process that has not got the rank. One line, or "" where who has it cannot be seen, or is
// of the same run; of the rank's processes the first that asks gets the line.
std::string rank_holder_in_words(const RunFolder& folder, const Identity& identity);

}  // namespace traceagent::process
