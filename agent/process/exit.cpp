// The end of the process: ask the drain thread for the last files, wait a bounded time.

#include "agent/process/exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/futex.hpp"
#include "agent/process/notices.hpp"

namespace traceagent::process {
namespace {

// Who ends the process, and what of it is done: the thread whose end comes first is the one whose
// exit code counts, as without the agent, where it would be through before another one came.
constinit std::atomic<pid_t> ender{0};
constinit std::atomic<std::uint32_t> is_finished{0};  // futex

// What the job's own later handlers, and CUDA's, may take before another thread's end counts.
constexpr std::uint64_t longest_last_words_ns = 1'000'000'000;

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

// True for the first thread that comes, whenever it comes again.
bool is_ender() noexcept {
  const pid_t self = static_cast<pid_t>(syscall(SYS_gettid));
  pid_t first = 0;
  return ender.compare_exchange_strong(first, self, std::memory_order_acq_rel) || first == self;
}

// In another thread than the ender, which in the C library's own exit would go past it: with main's
// exit code in place of the ender's, in the middle of its merge. The ender may wait for this
// thread, so that the wait has an end.
void await_ender(Agent& ending) noexcept {
  const int saved_errno = errno;
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  const std::uint64_t until_ns = now_ns + longest_wait_ns(ending);
  while (is_finished.load(std::memory_order_acquire) == 0 &&
         event::clock_ns(CLOCK_MONOTONIC) < until_ns) {
    futex_wait(is_finished, 0, longest_sleep_ns);
  }
  ending.drain.finish(longest_wait_ns(ending));  // which may have been put off
  static constinit std::atomic<std::uint32_t> never{0};
  const std::uint64_t end_ns = event::clock_ns(CLOCK_MONOTONIC) + longest_last_words_ns;
  while (event::clock_ns(CLOCK_MONOTONIC) < end_ns) futex_wait(never, 0, longest_sleep_ns);
  errno = saved_errno;
}

// All the work is the drain thread's: this may run in a signal handler (a handler that calls
// _exit) while this thread holds malloc's lock.
void finish() noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr || !may_end()) return;
  if (is_finished.load(std::memory_order_acquire) != 0) return;
  if (!ending->drain.finish(longest_wait_ns(*ending)) &&
      is_finished.load(std::memory_order_acquire) == 0) {
    say_late(may_merge(*ending));
  }
  switch_off();
  is_finished.store(1, std::memory_order_release);
  futex_wake(is_finished);
}

}  // namespace

void finish_before_death() noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  is_ender();
  // Peers that were told to end too are awaited within the same time: whoever sends the signal
  // sends SIGKILL soon.
  if (!ending->drain.finish_within(ending->options.exit_timeout)) say_late(false);
  switch_off();
  is_finished.store(1, std::memory_order_release);
  futex_wake(is_finished);
}

bool watch_exit_by(void (*handler)()) noexcept {
  return std::atexit(handler) == 0 && std::atexit(handler) == 0;
}

bool may_end() noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return false;
  if (is_ender()) return true;
  await_ender(*ending);
  return false;
}

void watch_exit() noexcept {
  ender.store(0, std::memory_order_relaxed);
  is_finished.store(0, std::memory_order_relaxed);
  static bool watched = false;  // a forked child inherits the handlers
  if (watched) return;
  watched = true;
  if (!watch_exit_by(finish) || std::at_quick_exit(finish) != 0 ||
      std::at_quick_exit(finish) != 0) {
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
