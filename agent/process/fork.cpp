#include "agent/process/fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include "agent/process/agent.hpp"

namespace traceagent::process {
namespace {

// We hold no lock across anything, so there is nothing to take before the fork and to give back in
// the parent. In the child only async-signal-safe work is allowed.
void in_child() noexcept {
  Agent* parents = agent.load(std::memory_order_relaxed);
  if (parents == nullptr) return;
  // The lock on the ring's file is the parent's alone, and closing here does not drop it.
  close(parents->ring.fd);
  forget_after_fork();
}

}  // namespace

void watch_forks() noexcept {
  static bool watched = false;
  if (watched) return;
  watched = pthread_atfork(nullptr, nullptr, in_child) == 0;
}

}  // namespace traceagent::process
