#include "tools/upload/low_priority.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace traceagent::tools {

void take_low_priority() noexcept {
  // Where sessions share the CPUs (sched_autogroup_enabled), what follows only counts within ours.
  const bool has_own_session = getsid(0) == getpid();
  const int group = has_own_session ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;
  if (group >= 0) {
    static_cast<void>(!write(group, "19", 2));
    close(group);
  }
  // Not SCHED_IDLE: on a busy core it gets 0.3 % of it, for minutes on end while it holds a lock
  // that ranks wait for.
  setpriority(PRIO_PROCESS, 0, 19);
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
  // linux/ioprio.h is younger than the systems that we build on; libc has no such function.
  constexpr int of_a_process = 1;
  constexpr int lowest_best_effort = 2 << 13 | 7;
  syscall(SYS_ioprio_set, of_a_process, 0, lowest_best_effort);
}

}  // namespace traceagent::tools
