#include "agent/event/fork_hold.hpp"

#include <atomic>
#include <cerrno>
#include <ctime>

namespace traceagent::event {
namespace {

// Sequentially consistent both: of a call that begins and a fork that begins one must see the
// other.
constinit std::atomic<int> holding_threads{0};
constinit std::atomic<int> forks{0};
// Calls within calls: only the outermost is counted and may wait, for a fork may be waiting for it.
// Initial-exec: the first use of other TLS in a thread may itself call malloc.
constinit thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;

// A call takes microseconds, on a busy machine as long as its thread is off the processor.
void wait_until_at_most(int count, const std::atomic<int>& others) noexcept {
  constexpr int longest_waits = 5000;
  const timespec pause{0, 100'000};
  const int saved_errno = errno;
  for (int i = 0; i < longest_waits && others.load() > count; ++i) nanosleep(&pause, nullptr);
  errno = saved_errno;
}

}  // namespace

ForkHold::ForkHold() noexcept {
  constexpr int most_forks = 3;  // one after the other: then this call goes first
  if (depth++ > 0) return;
  holding_threads.fetch_add(1);
  for (int i = 0; i < most_forks && forks.load() > 0; ++i) {
    holding_threads.fetch_sub(1);
    wait_until_at_most(0, forks);
    holding_threads.fetch_add(1);
  }
}

ForkHold::~ForkHold() {
  if (--depth == 0) holding_threads.fetch_sub(1);
}

void begin_fork() noexcept {
  forks.fetch_add(1);
  wait_until_at_most(depth > 0 ? 1 : 0, holding_threads);
  ++depth;
}

void end_fork_in_parent() noexcept {
  --depth;
  forks.fetch_sub(1);
}

void end_fork_in_child() noexcept {
  --depth;
  holding_threads.store(depth > 0 ? 1 : 0);  // the others are not in the child
  forks.store(0);
}

}  // namespace traceagent::event
