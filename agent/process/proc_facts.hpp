#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace traceagent::process {

// What /proc says about a process.
struct ProcessFacts {
  int pid = 0;
  std::uint64_t start_ticks = 0;     // since boot; with the pid it names the process for good
  std::vector<std::string> command;  // arguments, the program first
  // Which variables that can hold a rank its first environment has. Not known for other users'
  // processes (sshd, slurmstepd).
  bool environment_known = false;
  std::vector<std::string> rank_variables;
};

struct ProcFacts {
  std::string host;
  std::int64_t boot_time_s = 0;  // since the epoch
  std::int64_t ticks_per_second = 100;
  // This process, its parent, the parent's parent, … as far as they can be seen. Never empty.
  std::vector<ProcessFacts> chain = {{}};

  // Reads a few small files of /proc for each process; missing ones leave their fields as they are.
  static ProcFacts of_process();
};

struct Forebear {
  int pid = 0;
  std::int64_t start_ns = 0;  // CLOCK_REALTIME
};

// 0: there is none, or it cannot be seen.
int parent_of(int pid);

}  // namespace traceagent::process
