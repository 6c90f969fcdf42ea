#pragma once
// "traceagent recover --list" and "--discard": runs of dead jobs, whole.

#include <cstdint>
#include <string>
#include <vector>

namespace traceagent::tools {

// A folder with a ring or a claim of a rank in it is a run's; of another one the runs are what is
// in it. Never follows a link.
std::vector<std::string> runs_in(const std::string& folder);

// Prints for each run whose processes are all dead its age, its size, its owner, its command line,
// and how to recover or discard it. False where one cannot be looked at.
bool list_dead_runs(const std::vector<std::string>& folders);

// Removes those of which nothing is younger than `older_than_ns`, and says what went. Runs that
// live are left; another user's, and what the agent did not make, are refused: false.
bool discard_dead_runs(const std::vector<std::string>& folders, std::uint64_t older_than_ns);

struct DeadRunCount {
  std::size_t runs = 0, rings = 0;
  std::uint64_t bytes = 0;
};
DeadRunCount count_dead_runs(const std::string& users_folder);

}  // namespace traceagent::tools
