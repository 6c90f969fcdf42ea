#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace traceagent::process {

// What /proc says about a process.
struct ProcessFacts {
  int pid = 0;
  std::uint64_t start_ticks = 0;     // since boot; with the pid it names the process for good
  std::vector<std::string> command;  // arguments, the program first
  // Which variables that can hold a rank its first environment has, with the value that this
  // process has, and of no other world; this process's own, its present one. Not known for other
  // users' processes (sshd, slurmstepd).
  bool environment_known = false;
  std::vector<std::string> rank_variables;
};

struct ProcFacts {
  std::string host;
  std::int64_t boot_time_s = 0;  // since the epoch
  std::int64_t ticks_per_second = 100;
  // This process, its parent, the parent's parent, … as far as they can be seen. Never empty.
  std::vector<ProcessFacts> chain = {{}};
  // In which this process is; empty: the machine's own, or not known.
  std::string pid_namespace = {};
  // This process's, as it was at its start: a title may lie over it since. May be empty.
  std::vector<std::string> command_at_load = {};
  // Whether a process has claimed that rank in a run. A rank's environment may not show it: where
  // it was set within the process, or where a title is written over it (setproctitle). May be
  // empty.
  std::function<bool(const ProcessFacts&, std::int64_t rank)> holds_rank = {};

  // Reads a few small files of /proc for each process; missing ones leave their fields as they are.
  static ProcFacts of_process();

  // Of a forked child that has read `now`, from what its parent knew of itself: what /proc shows of
  // either may be a title by now. The child is the parent's program and has its environment.
  ProcFacts of_child(ProcFacts now) const;
};

struct Forebear {
  int pid = 0;
  std::int64_t start_ns = 0;  // CLOCK_REALTIME
};

// 0: there is none, or it cannot be seen.
int parent_of(int pid);
bool is_descendant_of(int pid, int ancestor);

}  // namespace traceagent::process
