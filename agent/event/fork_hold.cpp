#include "agent/event/fork_hold.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "agent/event/no_cancellation.hpp"
#include "agent/event/ticks.hpp"

namespace traceagent::event {
namespace {

// Sequentially consistent both: of a call that begins and a fork that begins one must see the
// other.
constinit std::atomic<int> holding_threads{0};
constinit std::atomic<int> forks{0};
// Of the holding threads, those that a fork has waited for in vain: one that hangs, or that left a
// call by longjmp, delays one fork and not each.
constinit std::atomic<int> given_up{0};

// Calls within calls: only the outermost is counted and may wait, for a fork may be waiting for it.
// Initial-exec: the first use of other TLS in a thread may itself call malloc.
constinit thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
// For a fork in a signal handler, wherever that has interrupted us.
constinit thread_local bool is_counted __attribute__((tls_model("initial-exec"))) = false;

void count_in() noexcept {
  holding_threads.fetch_add(1);
  is_counted = true;
}

void count_out() noexcept {
  is_counted = false;
  const int left = holding_threads.fetch_sub(1) - 1;
  if (given_up.load(std::memory_order_relaxed) > left) given_up.store(left);
}

// The job's errno stays as it is, also where the clock is refused.
std::uint64_t now_ns() noexcept {
  const int saved_errno = errno;
  const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
  errno = saved_errno;
  return now;
}

// A call takes microseconds, on a busy machine as long as its thread is off the processor. So many
// turns at most, where the clock is refused.
constexpr int most_turns = 5000;
std::uint64_t deadline_of_wait_ns() noexcept { return now_ns() + 500'000'000; }

// nanosleep is a point at which a thread may be cancelled, fork and malloc are none: without
// NoCancellation the job's thread would be unwound through functions that let nothing through.
template <class Condition>
void wait_while(const Condition& condition, std::uint64_t deadline_ns) noexcept {
  const NoCancellation no_cancellation;
  const int saved_errno = errno;
  const timespec pause{0, 100'000};
  for (int i = 0; i < most_turns && condition() && now_ns() < deadline_ns; ++i) {
    nanosleep(&pause, nullptr);
  }
  errno = saved_errno;
}

bool any_fork() noexcept { return forks.load() > 0; }

// Until none goes on. One may begin between two looks; in the end this call goes first.
void wait_for_forks() noexcept {
  constexpr int most_forks = 3;
  const std::uint64_t deadline_ns = deadline_of_wait_ns();
  for (int i = 0; i < most_forks && any_fork() && now_ns() < deadline_ns; ++i) {
    count_out();
    wait_while(any_fork, deadline_ns);
    count_in();
  }
}

}  // namespace

ForkHold::ForkHold() noexcept {
  if (depth++ > 0) return;
  count_in();
  if (any_fork()) wait_for_forks();
}

ForkHold::~ForkHold() {
  if (--depth == 0) count_out();
}

void begin_fork() noexcept {
  forks.fetch_add(1);
  const int own = is_counted ? 1 : 0;
  const auto any_other = [own] { return holding_threads.load() > own + given_up.load(); };
  if (any_other()) {
    wait_while(any_other, deadline_of_wait_ns());
    if (any_other()) given_up.store(holding_threads.load() - own);
  }
  ++depth;
}

void end_fork_in_parent() noexcept {
  --depth;
  // In the child of a fork within this one there is none any more.
  int count = forks.load();
  while (count > 0 && !forks.compare_exchange_weak(count, count - 1)) {
  }
}

void end_fork_in_child() noexcept {
  --depth;
  holding_threads.store(is_counted ? 1 : 0);  // the others are not in the child
  given_up.store(0);
  forks.store(0);
}

}  // namespace traceagent::event
