#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/proc_facts.hpp"
#include "config/environment.hpp"

namespace traceagent::process {

// What all ranks of a run know alike, so that they find one name without talking to each other.
struct RunFacts {
  bool is_launched = false;  // false: nobody to agree with
  std::int64_t rank = 0;
  bool is_slurm_step = false;               // srun started this process
  bool is_one_node = true;                  // all ranks are on this node: they share their launcher
  bool has_launcher = true;                 // false: rank zero has started the others
  std::vector<std::string> rank_variables;  // that are this process's own, of all that are set
};

// How the key of a run begins that nobody launched.
inline constexpr std::string_view single_process_key = "process-";

struct RunName {
  std::string key;      // of letters, digits and ._-, at most 96 bytes; not the same for two runs
  std::string name;     // what a user wants to see: program and start time
  std::string attempt;  // "attempt1" after an elastic restart, "requeue1"; empty: the first
  std::string problem;  // one line: this rank's key is its own, nothing being known of its job
};

// Key and default name of the run.
//   srun              job and step number
//   one node          the launcher's pid and start time, with whatever ids the job has
//   several nodes     the ids of the job: Slurm's job number, PMIx name space, torchrun's run id,
//                     MASTER_ADDR and MASTER_PORT. Parents differ from node to node, so without
//                     any of these each node is a run of its own. Two runs one after the other with
//                     the same address and port have the same key: see earlier_run.hpp.
// Ranks started by hand twice from one shell, with no id at all, look like one run.
// torchrun counts restarts per node: after a restart that not all nodes counted, the nodes' names
// differ by their attempt.
RunName name_run(const config::Environment& environment, const ProcFacts& facts,
                 const RunFacts& run);

// The name of the program: for Python its script or module, also in multiprocessing's children.
std::string program_name(const ProcFacts& facts);

// When the rank's first process began (CLOCK_REALTIME): a shell or a wrapper that the launcher
// started as this rank, or the first parent of worker processes. Now, where that is not known.
std::int64_t rank_start_ns(const ProcFacts& facts, const RunFacts& run);

// Pids: this process and its ancestors up to the rank's first process, and who started that.
int launcher_of_rank(const ProcFacts& facts, const RunFacts& run);
std::vector<Forebear> family_of_rank(const ProcFacts& facts, const RunFacts& run);

}  // namespace traceagent::process
