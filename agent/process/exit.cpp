// The end of the process: ask the drain thread for the last files, wait a bounded time.

#include "agent/process/exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"

namespace traceagent::process {
namespace {

constinit std::atomic<bool> finishing{false};

bool may_merge(const Agent& ending) noexcept { return ending.options.merge_mode != "off"; }

std::uint64_t longest_wait_ns(const Agent& ending) noexcept {
  return ending.options.exit_timeout + (may_merge(ending) ? ending.options.merge_timeout : 0);
}

// A forked child, and a vfork child in its parent's memory, have a pid of their own: not theirs.
Agent* own_agent() noexcept {
  Agent* ending = agent.load(std::memory_order_acquire);
  return ending != nullptr && ending->pid == getpid() ? ending : nullptr;
}

void say_late(bool with_merge) noexcept {
  say_problem(with_merge ? "the last events were not written within exit.timeout and "
                           "merge.timeout: they stay in memory for `traceagent recover`"
                         : "the last events were not written within exit.timeout: they stay in "
                           "memory for `traceagent recover`");
}

// All the work is the drain thread's: this may run in a signal handler (a handler that calls
// _exit) while this thread holds malloc's lock.
void finish() noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  if (finishing.exchange(true, std::memory_order_acq_rel)) {
    // Another thread is at it: ending the process now would cut its merge.
    ending->drain.finish(longest_wait_ns(*ending));
    return;
  }
  if (!ending->drain.finish(longest_wait_ns(*ending))) say_late(may_merge(*ending));
  switch_off();
}

}  // namespace

void finish_before_death() noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  finishing.store(true, std::memory_order_release);
  // Peers that were told to end too are awaited within the same time: whoever sends the signal
  // sends SIGKILL soon.
  if (!ending->drain.finish_within(ending->options.exit_timeout)) say_late(false);
  switch_off();
}

void watch_exit() noexcept {
  finishing.store(false, std::memory_order_relaxed);
  static bool watched = false;  // a forked child inherits the handlers
  if (watched) return;
  watched = true;
  if (std::atexit(finish) != 0 || std::at_quick_exit(finish) != 0) {
    say_problem(
        "out of memory: the program's end goes unseen: its last events stay in memory for "
        "`traceagent recover`");
  }
}

}  // namespace traceagent::process

// Python's os._exit and many launchers' children end here, where no exit handler runs.
extern "C" {

[[gnu::visibility("default"), noreturn]] void traceagent_exit_now(int status) __asm__("_exit");
[[noreturn]] void traceagent_exit_now(int status) {
  traceagent::process::finish();
  for (;;) syscall(SYS_exit_group, status);
}

[[gnu::visibility("default"), noreturn]] void traceagent_exit_as_in_c(int status) __asm__("_Exit");
[[noreturn]] void traceagent_exit_as_in_c(int status) { traceagent_exit_now(status); }
}
