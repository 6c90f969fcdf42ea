#pragma once
// How many CPUs the share is of that the agent's own threads may take.

#include <cstdint>
#include <string>

namespace traceagent::process {

struct Cpus {
  int online = 1;
  int allowed = 0;   // by the mask of who asks; 0: unknown
  double quota = 0;  // of the control group, in CPUs; 0: none
};

// This rank's part: what its mask allows it, and no more than its share of the node's: a mask may
// be that of all ranks together, which no rank can tell from one of its own. Nor more than its
// share of a quota, which a node's ranks are taken to have together: they are in one container
// mostly, and elsewhere too little is spent. One CPU, or the whole quota, is left to each.
double usable_cpus(const Cpus& cpus, std::int64_t local_world_size) noexcept;

// As the calling thread finds them. That is one of ours: its mask is that of the process's main
// thread or of the thread that made the first call, whichever is wider
// (leave_starters_scheduling()). Not all that some thread of the job may use: ours cannot go there,
// and a share of CPUs that others are pinned to would be taken from these.
double usable_cpus(std::int64_t local_world_size, double quota) noexcept;

// The least quota of CPU time of this process's control group and those around it: cpu.max, or
// cpu.cfs_quota_us of version 1. In CPUs, 0: none. `root` goes before all paths. Opens files: for
// the thread that starts the agent, so that no thread of ours takes low descriptors while the job
// opens files of its own.
double cpu_quota(const std::string& root);

}  // namespace traceagent::process
