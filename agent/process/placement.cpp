#include "agent/process/placement.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/plain_text.hpp"

namespace traceagent::process {
namespace {

using config::Environment;

// Arrays, not lists: the table must be there before any constructor has run.
using Names = std::array<std::string_view, 3>;

// The variables of a launcher; of several names for one number the first that is set counts.
struct LauncherVariables {
  std::string_view source;
  std::string_view rank;
  Names local_rank;
  Names world_size;
  Names local_world_size;
  Names node_rank;
};

// Open MPI's OMPI_COMM_WORLD_NODE_RANK is not the node's number: it counts the processes of all
// jobs on this node. Neither Open MPI nor Hydra says which node this is. LOCAL_SIZE and CROSS_RANK
// are DeepSpeed's.
constexpr LauncherVariables launchers[] = {
    {"torchrun",
     "RANK",
     {"LOCAL_RANK"},
     {"WORLD_SIZE"},
     {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"},
     {"GROUP_RANK", "NODE_RANK", "CROSS_RANK"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_LOCAL_RANK"},
     {"OMPI_COMM_WORLD_SIZE"},
     {"OMPI_COMM_WORLD_LOCAL_SIZE"},
     {}},
    {"MPICH or Intel MPI",
     "PMI_RANK",
     {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
     {"PMI_SIZE"},
     {"MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"},
     {}},
    {"MVAPICH",
     "MV2_COMM_WORLD_RANK",
     {"MV2_COMM_WORLD_LOCAL_RANK"},
     {"MV2_COMM_WORLD_SIZE"},
     {"MV2_COMM_WORLD_LOCAL_SIZE"},
     {}},
    {"Slurm",
     "SLURM_PROCID",
     {"SLURM_LOCALID"},
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
     {},
     {"SLURM_NODEID"}},
};
constexpr std::string_view own_rank_variables[] = {"TRACEAGENT_IDENTITY_RANK", "TRACEAGENT_RANK"};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const bool fits = read.ec == std::errc() && read.ptr == end && number >= 0 && number < 1LL << 31;
  return fits ? std::optional(number) : std::nullopt;
}

class VariableReader {
 public:
  VariableReader(const Environment& environment, std::vector<std::string>& problems)
      : environment_(environment), problems_(problems) {}

  std::optional<std::int64_t> number(std::string_view name) {
    const auto text = environment_.get(name);
    if (!text || text->empty()) return std::nullopt;
    const auto value = whole_number(*text);
    if (!value) {
      problems_.push_back("bad rank: " + std::string(name) + ": " + config::in_quotes(*text) +
                          ": not a whole number from 0; going on as if it were not set");
    }
    return value;
  }

  std::optional<std::int64_t> first_number(const Names& names) {
    for (const std::string_view name : names) {
      if (name.empty()) break;
      if (const auto value = number(name)) return value;
    }
    return std::nullopt;
  }

 private:
  const Environment& environment_;
  std::vector<std::string>& problems_;
};

std::optional<std::int64_t> set_option(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

Placement from_options(const config::Options& options, const Environment& environment) {
  Placement own;
  own.source = "options";
  own.rank = set_option(options.identity_rank);
  own.local_rank = set_option(options.identity_local_rank);
  own.world_size = set_option(options.identity_world_size);
  own.local_world_size = set_option(options.identity_local_world_size);
  own.node_rank = set_option(options.identity_node_rank);
  for (const std::string_view name : own_rank_variables) {
    if (own.rank_variable.empty() && environment.get(name)) own.rank_variable = name;
  }
  return own;
}

// The number of ids in SLURM_GTIDS: the tasks of this step on this node.
std::int64_t ids_in(std::string_view list) {
  return list.empty() ? 0 : 1 + std::ranges::count(list, ',');
}

// The script that sbatch runs has the variables of a task, as if it were rank 0 of all the job's
// tasks, but it is one process; so is what it starts without srun. It shows by its list of tasks
// on this node, which has one entry where the job has several.
bool is_batch_script(const Environment& environment, std::optional<std::int64_t> tasks_here) {
  const auto ids = environment.get("SLURM_GTIDS");
  return ids && !environment.get("SLURM_STEP_ID") && ids_in(*ids) == 1 &&
         tasks_here.value_or(1) > 1;
}

// False: these variables say nothing about this process. `is_second`: another launcher has spoken.
// Without a step they are then the batch script's, inherited, and would fit its rank 0 only.
bool add_slurm_tasks(Placement& placement, const Environment& environment, bool is_second) {
  if (is_second && !environment.get("SLURM_STEP_ID")) return false;
  for (const std::string_view name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}) {
    if (placement.local_world_size) break;
    placement.local_world_size =
        slurm_tasks_on_node(environment.get(name).value_or(""), placement.node_rank.value_or(0));
  }
  if (is_batch_script(environment, placement.local_world_size)) return false;
  if (!placement.local_world_size) {
    const std::int64_t ids = ids_in(environment.get("SLURM_GTIDS").value_or(""));
    if (ids > 0) placement.local_world_size = ids;
  }
  return true;
}

constexpr std::string_view rank_within_node = "LOCAL_RANK";

// Lightning starts `python train.py` again for each further device and sets no RANK: on the first
// node it is LOCAL_RANK, on others it takes a number of ranks for each.
std::optional<Placement> without_rank(VariableReader& read, std::vector<std::string>& problems) {
  Placement placement;
  placement.source = "LOCAL_RANK";
  placement.rank_variable = rank_within_node;
  placement.local_rank = read.number(rank_within_node);
  placement.world_size = read.number("WORLD_SIZE");
  if (!placement.local_rank || placement.world_size.value_or(1) < 2) return std::nullopt;
  placement.local_world_size = read.number("LOCAL_WORLD_SIZE");
  placement.node_rank = read.first_number({"NODE_RANK", "GROUP_RANK"});
  const std::int64_t node = placement.node_rank.value_or(0);
  if (node > 0 && !placement.local_world_size) {
    problems.emplace_back(
        "rank: LOCAL_RANK and WORLD_SIZE are set and RANK is not, so that this rank's number is "
        "not known: it is traced as a process of its own: set TRACEAGENT_IDENTITY_RANK, or "
        "LOCAL_WORLD_SIZE");
    return std::nullopt;
  }
  placement.rank = node * placement.local_world_size.value_or(0) + *placement.local_rank;
  return placement;
}

}  // namespace

std::optional<std::int64_t> slurm_tasks_on_node(std::string_view tasks_per_node,
                                                std::int64_t node) {
  while (!tasks_per_node.empty()) {
    const std::size_t comma = std::min(tasks_per_node.find(','), tasks_per_node.size());
    std::string_view part = tasks_per_node.substr(0, comma);
    tasks_per_node.remove_prefix(std::min(comma + 1, tasks_per_node.size()));
    std::int64_t repeated = 1;
    if (const std::size_t open = part.find("(x"); open != std::string_view::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      const auto times = whole_number(part.substr(open + 2, part.size() - open - 3));
      if (!times) return std::nullopt;
      repeated = *times;
      part = part.substr(0, open);
    }
    const auto tasks = whole_number(part);
    if (!tasks) return std::nullopt;
    if (node < repeated) return tasks;
    node -= repeated;
  }
  return std::nullopt;
}

Placements find_placements(const Environment& environment, const config::Options& options) {
  Placements result;
  result.found.push_back(from_options(options, environment));
  VariableReader read(environment, result.problems);
  for (const LauncherVariables& names : launchers) {
    Placement placement;
    placement.source = names.source;
    placement.rank_variable = names.rank;
    placement.rank = read.number(names.rank);
    if (!placement.rank) continue;
    placement.local_rank = read.first_number(names.local_rank);
    placement.world_size = read.first_number(names.world_size);
    placement.local_world_size = read.first_number(names.local_world_size);
    placement.node_rank = read.first_number(names.node_rank);
    const bool is_second = result.found.size() > 1;
    if (names.source == "Slurm" && !add_slurm_tasks(placement, environment, is_second)) continue;
    result.found.push_back(std::move(placement));
  }
  if (result.found.size() > 1 || result.found[0].rank) return result;
  if (auto placement = without_rank(read, result.problems)) {
    placement->is_started_by_rank_zero = true;
    result.found.push_back(std::move(*placement));
  }
  return result;
}

std::vector<std::string> rank_variables() {
  std::vector<std::string> names(std::begin(own_rank_variables), std::end(own_rank_variables));
  for (const LauncherVariables& launcher : launchers) names.emplace_back(launcher.rank);
  names.emplace_back(rank_within_node);
  return names;
}

std::vector<std::string> world_size_variables(std::string_view rank_variable) {
  std::vector<std::string> names;
  for (const LauncherVariables& launcher : launchers) {
    if (launcher.rank != rank_variable) continue;
    for (const std::string_view name : launcher.world_size) {
      if (!name.empty()) names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace traceagent::process
