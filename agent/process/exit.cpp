// The end of the process: ask the drain thread for the last files, wait a bounded time.

#include "agent/process/exit.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
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

// Who ends the process: the thread whose end comes first is the one whose exit code counts, as
// without the agent, where it would be through before another one came.
constinit std::atomic<pid_t> ender{0};
// Where it is, as a futex.
enum Stage : std::uint32_t { outside, in_handler, finishing, finished };
constinit std::atomic<std::uint32_t> stage{outside};
constinit std::atomic<bool> is_failure{false};
constinit std::atomic<bool> is_by_signal{false};

// What the job's own handlers may take, between ours and behind them, before another thread's end
// counts. Between them that thread may be awaited by the ender.
constexpr std::uint64_t longest_between_ns = 100'000'000;
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

// All is written; what was not done is the node's file, which waits for the other ranks, or what
// follows from it.
void say_node_file_late(const Agent& ending) noexcept {
  if (!may_merge(ending) || !ending.speaks_for_node()) return;
  say_problem(
      "the node's file was not made in the time that the end has: it is made when the node's last "
      "rank ends, or by `traceagent recover`");
}

void say_late(const Agent& ending, bool with_merge) noexcept {
  if (ending.ring.ring.header().finished.load(std::memory_order_acquire) != 0) {
    return say_node_file_late(ending);
  }
  if (ending.drain.is_locked_out()) {
    return say_problem(
        "the last events were not written within exit.timeout, in which the agent's thread got no "
        "lock that it needs (malloc's or the loader's, where the program ended within one of their "
        "calls; or CUDA's): they stay in memory for `traceagent recover`");
  }
  say_problem(with_merge ? "the last events were not written within exit.timeout and "
                           "merge.timeout: they stay in memory for `traceagent recover`"
                         : "the last events were not written within exit.timeout: they stay in "
                           "memory for `traceagent recover`");
}

void set_stage(Stage now) noexcept {
  stage.store(now, std::memory_order_release);
  futex_wake(stage);
}

pid_t own_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

// Whoever ended by pthread_exit in a handler. A main thread that has ended stays until all have,
// without a folder to work in.
bool has_ended(pid_t thread) noexcept {
  if (syscall(SYS_tgkill, getpid(), thread, 0) != 0) return errno == ESRCH;
  char first = 0;
  return thread == getpid() && readlink("/proc/self/cwd", &first, 1) < 0 && errno == ENOENT;
}

// Until the ender has ended the process, or it has become plain that it will not so soon.
void await_ender(Agent& ending, pid_t first) noexcept {
  std::uint64_t until_ns = event::clock_ns(CLOCK_MONOTONIC) + longest_between_ns;
  const std::uint64_t end_ns = until_ns + ending.options.exit_timeout;
  for (;;) {
    const std::uint32_t now = stage.load(std::memory_order_acquire);
    const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
    if (now == in_handler) until_ns = std::min(now_ns + longest_between_ns, end_ns);
    if (now >= finishing || now_ns >= until_ns || has_ended(first)) break;
    futex_wait(stage, now, longest_sleep_ns);
  }
  if (stage.load(std::memory_order_acquire) < finishing) return;
  ending.drain.finish(longest_wait_ns(ending));
  static constinit std::atomic<std::uint32_t> never{0};
  until_ns = event::clock_ns(CLOCK_MONOTONIC) + longest_last_words_ns;
  while (event::clock_ns(CLOCK_MONOTONIC) < until_ns && !has_ended(first)) {
    futex_wait(never, 0, longest_sleep_ns);
  }
}

using Register = int (*)(void (*)());

// Returns when this thread is the ender. Another one would go past the ender in the C library's own
// exit: with main's exit code in place of its own, in the middle of its merge. While it waits, it
// leaves a handler behind for a third one (`again`; null: there is no list of handlers).
void take_turn(Agent& ending, Register again, void (*handler)()) noexcept {
  const int saved_errno = errno;
  const pid_t self = own_thread();
  pid_t first = 0;
  if (!ender.compare_exchange_strong(first, self, std::memory_order_acq_rel) && first != self) {
    if (again != nullptr) again(handler);
    await_ender(ending, first);
    ender.store(self, std::memory_order_release);
  }
  errno = saved_errno;
}

// All the work is the drain thread's: this may run in a signal handler (a handler that calls
// _exit) while this thread holds malloc's lock.
void finish(Register again, void (*handler)()) noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  take_turn(*ending, again, handler);
  if (stage.load(std::memory_order_acquire) == finished) return;
  set_stage(finishing);
  if (!ending->drain.finish(longest_wait_ns(*ending))) say_late(*ending, may_merge(*ending));
  switch_off();
  set_stage(finished);
}

void finish_at_exit() noexcept { finish(std::atexit, finish_at_exit); }
// Of what the system keeps of it.
void note_status(int status, void*) noexcept {
  if (own_agent() == nullptr || stage.load(std::memory_order_acquire) >= finishing) return;
  is_failure.store((status & 0xff) != 0);
}
void finish_at_quick_exit() noexcept { finish(std::at_quick_exit, finish_at_quick_exit); }

}  // namespace

bool ends_with_failure() noexcept { return is_failure.load(); }
bool ends_by_signal() noexcept { return is_by_signal.load(); }

void finish_before_death(bool may_speak) noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  pid_t nobody = 0;
  ender.compare_exchange_strong(nobody, own_thread(), std::memory_order_acq_rel);
  is_by_signal.store(true);
  set_stage(finishing);
  // Peers that were told to end too are awaited within the same time: whoever sends the signal
  // sends SIGKILL soon.
  const bool is_done = ending->drain.finish_within(ending->options.exit_timeout);
  if (!is_done && may_speak) say_late(*ending, false);
  switch_off();
  set_stage(finished);
}

bool watch_exit_by(void (*handler)()) noexcept {
  return std::atexit(handler) == 0 && std::atexit(handler) == 0;
}

HandlerAtExit::HandlerAtExit(void (*handler)()) noexcept {
  Agent* ending = own_agent();
  if (ending == nullptr) return;
  take_turn(*ending, std::atexit, handler);
  if (stage.load(std::memory_order_acquire) != outside) return;
  set_stage(in_handler);
  is_first_ = true;
}

HandlerAtExit::~HandlerAtExit() {
  if (is_first_) set_stage(outside);
}

void watch_exit() noexcept {
  ender.store(0, std::memory_order_relaxed);
  stage.store(outside, std::memory_order_relaxed);
  is_failure.store(false);
  is_by_signal.store(false);
  static bool watched = false;  // a forked child inherits the handlers
  if (watched) return;
  watched = true;
  if (!watch_exit_by(finish_at_exit) || std::at_quick_exit(finish_at_quick_exit) != 0 ||
      std::at_quick_exit(finish_at_quick_exit) != 0) {
    say_problem(
        "out of memory: the program's end goes unseen: its last events stay in memory for "
        "`traceagent recover`");
  }
  // Called before those. Without it a rank that fails waits as long as others: nothing is lost.
  static_cast<void>(on_exit(note_status, nullptr));
}

}  // namespace traceagent::process

// Python's os._exit and many launchers' children end here, where no exit handler runs.
extern "C" {

[[gnu::visibility("default"), noreturn]] void traceagent_exit_now(int status) __asm__("_exit");
[[noreturn]] void traceagent_exit_now(int status) {
  traceagent::process::note_status(status, nullptr);
  traceagent::process::finish(nullptr, nullptr);
  for (;;) syscall(SYS_exit_group, status);
}

[[gnu::visibility("default"), noreturn]] void traceagent_exit_as_in_c(int status) __asm__("_Exit");
[[noreturn]] void traceagent_exit_as_in_c(int status) { traceagent_exit_now(status); }
}
