#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/process/proc_facts.hpp"
#include "config/environment.hpp"
#include "config/options.hpp"

namespace traceagent::process {

// Who this process is in its job.
struct Identity {
  std::int64_t rank = 0;
  std::int64_t local_rank = 0;
  std::int64_t world_size = 1;
  std::int64_t local_world_size = 1;
  std::int64_t stated_world_size = 0;  // 0: guessed by the rank, alone
  std::int64_t node_rank = 0;
  // node_rank where a launcher or an option states it, else 0: the ranks of one node may guess
  // differently.
  std::int64_t stated_node_rank = 0;
  // Of a job of several nodes; nobody said it.
  bool is_node_rank_guess = false, is_local_world_size_guess = false;
  std::string run_name;  // the same on all ranks; the option's, or made from program and start
  std::string run_key;   // names the run for machines: the same on all ranks of a node at least,
                         // another for each run; letters, digits and ._- only
  std::string host;
  int pid = 0;
  std::int64_t rank_start_ns = 0;  // CLOCK_REALTIME
  int launcher_pid = 0;            // whose child the rank's first process is; 0: not known
  std::vector<Forebear> family;  // this process, its parent, … the rank's first one, its launcher
  std::string source;            // who said so: "options", "torchrun", …, "single process"
  std::string attempt;           // of an elastic restart or a requeue; empty: the first
  std::vector<std::string> problems;  // complete lines for the user
};

// From variables, options and /proc alone; nothing is asked of other ranks.
Identity identify(const config::Options& options, const config::Environment& environment,
                  const ProcFacts& facts);

}  // namespace traceagent::process
