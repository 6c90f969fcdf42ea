#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.hpp"
#include "config/options.hpp"

namespace traceagent::process {

// Where a process stands in its job, as one launcher's variables say it.
struct Placement {
  std::string source;         // "torchrun", "Slurm", …
  std::string rank_variable;  // the variable the rank came from
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> local_rank;
  std::optional<std::int64_t> world_size;
  std::optional<std::int64_t> local_world_size;
  std::optional<std::int64_t> node_rank;
  bool is_started_by_rank_zero = false;  // no other process has started them all
};

struct Placements {
  // Our own options, then the launchers whose rank variable is set, in the order of trust.
  std::vector<Placement> found;
  std::vector<std::string> problems;  // complete lines: variables that are no numbers
};

Placements find_placements(const config::Environment& environment, const config::Options& options);

// All variables that can hold a rank: their absence tells a launcher from what it launched.
std::vector<std::string> rank_variables();

// Those by whose values that variable is of another world: a pod's RANK and WORLD_SIZE count pods.
std::vector<std::string> world_size_variables(std::string_view rank_variable);

// Slurm's "4(x2),3": the tasks on node 0, 1, 2, … Null when there is no such node, or the text is
// something else.
std::optional<std::int64_t> slurm_tasks_on_node(std::string_view tasks_per_node, std::int64_t node);

}  // namespace traceagent::process
