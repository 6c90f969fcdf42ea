#pragma once
// A straggler of an earlier run of the same key still has this rank's number: the new rank is taken
// for one of its workers, and the node file waits for it.

#include <string>

#include "agent/process/identity.hpp"
#include "agent/process/run_folder.hpp"

namespace traceagent::process {

// For a process that has not got the rank. One line, or "" where who has it is dead, cannot be
// seen, or is of the same family; of the rank's processes the first that asks gets the line.
std::string rank_holder_in_words(const RunFolder& folder, const Identity& identity);

}  // namespace traceagent::process
