#include "agent/process/identity.hpp"

#include <algorithm>

#include "agent/process/placement.hpp"
#include "agent/process/run_name.hpp"

namespace traceagent::process {
namespace {

// A second launcher's variables are about this process only if they agree with the first one's:
// torchrun inside a batch script sees Slurm's variables of the script.
bool agrees(const Placement& one, const Placement& other) {
  if (one.rank != other.rank) return false;
  return !one.world_size || !other.world_size || one.world_size == other.world_size;
}

void fill(std::optional<std::int64_t>& number, const std::optional<std::int64_t>& from) {
  if (!number) number = from;
}

void fill(Placement& placement, const Placement& from) {
  fill(placement.local_rank, from.local_rank);
  fill(placement.world_size, from.world_size);
  fill(placement.local_world_size, from.local_world_size);
  fill(placement.node_rank, from.node_rank);
}

bool is_loopback(std::string_view address) {
  return address.empty() || address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

// RANK and WORLD_SIZE set by hand, without their local counterparts: one node when the ranks meet
// on the loopback address (or nowhere), else one rank per node, as in one pod per rank.
// False: how many ranks this node has is not known.
bool guess_local(Placement& p, const config::Environment& environment) {
  const bool is_one_node = is_loopback(environment.get("MASTER_ADDR").value_or(""));
  if (!p.local_rank) {
    if (p.local_world_size && *p.local_world_size > 0) {
      p.local_rank = *p.rank % *p.local_world_size;
    } else {
      p.local_rank = is_one_node ? *p.rank : 0;
    }
  }
  if (p.local_world_size) return true;
  if (is_one_node && p.local_rank == p.rank) {
    p.local_world_size = p.world_size;
    return true;
  }
  if (p.node_rank.value_or(0) > 0 && (*p.rank - *p.local_rank) % *p.node_rank == 0) {
    p.local_world_size = (*p.rank - *p.local_rank) / *p.node_rank;
    return true;
  }
  p.local_world_size = *p.local_rank + 1;
  return false;
}

// Ranks lie on nodes in blocks or dealt round; with blocks of different sizes the result is only
// sure to be 0 on the first node and nowhere else.
// Where a node's number of ranks is not known it has the number of its first rank: its ranks agree.
std::int64_t guess_node(const Placement& p, bool is_size_known) {
  const std::int64_t first_rank = *p.rank - *p.local_rank;
  if (!is_size_known) return std::max<std::int64_t>(0, first_rank);
  const std::int64_t size = std::max<std::int64_t>(1, *p.local_world_size);
  if (size >= *p.world_size || first_rank == 0) return 0;
  const std::int64_t nodes = *p.world_size / size;
  if (first_rank % size != 0 && *p.rank / nodes == *p.local_rank) {
    const std::int64_t node = *p.rank % nodes;
    // The first rank of another node lies as in blocks, and takes this number: two nodes would
    // write one file, and have one clock.
    return node != 0 && node * size < nodes ? nodes + node : node;
  }
  return std::max<std::int64_t>(1, first_rank / size);
}

// Numbers that cannot be together are widened to what the rank needs.
void make_consistent(Placement& p, std::vector<std::string>& problems) {
  if (!p.world_size) p.world_size = std::max(*p.rank + 1, p.local_world_size.value_or(0));
  if (*p.world_size <= *p.rank) {
    problems.push_back("bad rank: rank " + std::to_string(*p.rank) + " from " + p.source +
                       ": the world has " + std::to_string(*p.world_size) +
                       " ranks only; going on with a world of " + std::to_string(*p.rank + 1));
    p.world_size = *p.rank + 1;
  }
}

void make_local_consistent(Placement& p) {
  p.local_world_size = std::min(*p.local_world_size, *p.world_size);
  p.local_world_size = std::max(*p.local_world_size, *p.local_rank + 1);
}

constexpr const char* unknown_size =
    "node: how many ranks it has is not said: nodes have the numbers of their first ranks, and "
    "ranks that leave nothing are not named: set TRACEAGENT_IDENTITY_LOCAL_WORLD_SIZE";

struct Resolved {
  Placement placement;
  RunFacts run;
  std::int64_t stated_world_size = 0;
  std::int64_t stated_node_rank = 0;
  bool is_node_rank_guess = false, is_local_world_size_guess = false;
};

Resolved resolve(const Placements& placements, const config::Environment& environment,
                 std::vector<std::string>& problems) {
  Resolved result;
  Placement& p = result.placement;
  const Placement& own = placements.found[0];
  const auto chosen = std::ranges::find_if(
      placements.found, [](const Placement& candidate) { return candidate.rank.has_value(); });
  p = own;
  if (chosen == placements.found.end()) {
    p.source = "single process";
    p.rank = 0;
  } else {
    result.run.is_launched = true;
    p.source = chosen->source;
    p.rank = chosen->rank;
    result.run.has_launcher = !chosen->is_started_by_rank_zero;
    result.run.rank_variables.push_back(chosen->rank_variable);
    fill(p, *chosen);
    for (auto other = chosen + 1; other != placements.found.end(); ++other) {
      if (!agrees(p, *other)) continue;
      fill(p, *other);
      result.run.rank_variables.push_back(other->rank_variable);
      result.run.is_slurm_step |= other->source == "Slurm";
    }
    result.run.is_slurm_step |= chosen->source == "Slurm";
  }
  result.run.rank = *p.rank;
  result.stated_world_size = p.world_size.value_or(0);
  make_consistent(p, problems);
  if (*p.world_size != result.stated_world_size) result.stated_world_size = 0;
  const bool has_local_rank = p.local_rank.has_value();
  const bool is_size_known = guess_local(p, environment);
  if (!is_size_known && has_local_rank && *p.world_size > 1) problems.push_back(unknown_size);
  make_local_consistent(p);
  result.stated_node_rank = p.node_rank.value_or(0);
  result.run.is_one_node = is_size_known && *p.local_world_size >= *p.world_size;
  const bool is_alone = *p.world_size <= 1;
  result.is_node_rank_guess = !p.node_rank && !result.run.is_one_node && !is_alone;
  result.is_local_world_size_guess = !is_size_known && !is_alone;
  if (!p.node_rank) p.node_rank = guess_node(p, is_size_known);
  // A world of one needs nobody to agree with, and its launcher may outlive many runs: the shell of
  // srun --pty is rank 0 of 1, and so is all that is started from it.
  result.run.is_launched &= *p.world_size > 1;
  return result;
}

}  // namespace

Identity identify(const config::Options& options, const config::Environment& environment,
                  const ProcFacts& facts) {
  Placements placements = find_placements(environment, options);
  Identity identity;
  identity.problems = std::move(placements.problems);
  const Resolved resolved = resolve(placements, environment, identity.problems);
  const Placement& p = resolved.placement;
  identity.rank = *p.rank;
  identity.local_rank = *p.local_rank;
  identity.world_size = *p.world_size;
  identity.local_world_size = *p.local_world_size;
  identity.node_rank = *p.node_rank;
  identity.stated_world_size = resolved.stated_world_size;
  identity.stated_node_rank = resolved.stated_node_rank;
  identity.is_node_rank_guess = resolved.is_node_rank_guess;
  identity.is_local_world_size_guess = resolved.is_local_world_size_guess;
  identity.source = p.source;
  identity.host = facts.host;
  identity.pid = facts.chain[0].pid;
  identity.rank_start_ns = rank_start_ns(facts, resolved.run);
  identity.family = family_of_rank(facts, resolved.run);
  identity.launcher_pid = launcher_of_rank(facts, resolved.run);
  RunName name = name_run(environment, facts, resolved.run);
  identity.run_key = std::move(name.key);
  if (!name.problem.empty()) identity.problems.push_back(std::move(name.problem));
  identity.attempt = name.attempt;
  identity.run_name = std::move(name.name);
  if (!options.run_name.empty()) {
    identity.run_name = options.run_name;
    if (!name.attempt.empty()) identity.run_name += '-' + name.attempt;
  }
  return identity;
}

}  // namespace traceagent::process
