#include "agent/process/death_signals.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "agent/process/exit.hpp"

namespace traceagent::process {
namespace {

constinit std::atomic<std::uint64_t> watched{0};  // bit n: signal n

constexpr std::uint64_t bit_of(int signal) noexcept { return std::uint64_t{1} << signal; }

void take_default_action(int signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  // Without it we would be called again and again; a shell would say 128 + n of that signal.
  if (sigaction(signal, &action, nullptr) != 0 && sigaction(signal, &action, nullptr) != 0) {
    syscall(SYS_exit_group, 128 + signal);
  }
  // Blocked while its handler runs: raised now, it comes with the unblocking.
  raise(signal);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

void on_signal(int signal);

// A handler that the job set since may call the one it found, which is ours: alone it would have
// found the default action and called nothing. Where that cannot be known the job ends, as ever.
bool is_chained_to(int signal) noexcept {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler != on_signal;
}

// An alternate stack may be small (SIGSTKSZ was 8 KiB, and a frame with the CPU's registers takes
// half of that): beyond its end lies other memory of the job's.
bool has_room_for_a_line() noexcept {
  constexpr std::ptrdiff_t needed_bytes = 4 * 1024;
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) == 0) return true;
  const char here = 0;
  return &here - static_cast<const char*>(stack.ss_sp) >= needed_bytes;
}

// Waits rather than returns: a system call that fails with EINTR would be the job's to see, and to
// speak of. A thread that holds malloc's lock meanwhile costs the last events, never the death.
void on_signal(int signal) {
  if (is_chained_to(signal)) return;
  finish_before_death(has_room_for_a_line());
  take_default_action(signal);
}

}  // namespace

bool watch_death_signals(const std::vector<int>& signals) noexcept {
  bool is_refused = false;
  for (const int signal : signals) {
    struct sigaction now {};
    is_refused |= sigaction(signal, nullptr, &now) != 0;
    // One that the job ignores or handles is the job's.
    if (is_refused || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    // On the job's own alternate stack if it has one. All else waits: a second signal would cut
    // the writing.
    ours.sa_flags = SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    if (sigaction(signal, &ours, nullptr) == 0) {
      watched.fetch_or(bit_of(signal), std::memory_order_relaxed);
    } else {
      is_refused = true;
    }
  }
  return !is_refused;
}

void unwatch_death_signals() noexcept {
  const std::uint64_t signals = watched.exchange(0, std::memory_order_relaxed);
  for (int signal = 1; signal < 64; ++signal) {
    struct sigaction now {};
    if ((signals & bit_of(signal)) == 0 || sigaction(signal, nullptr, &now) != 0) continue;
    if (now.sa_handler != on_signal) continue;
    now = {};
    now.sa_handler = SIG_DFL;
    sigaction(signal, &now, nullptr);
  }
}

}  // namespace traceagent::process
