#include "agent/process/fork.hpp"

#include <pthread.h>

#include "agent/event/fork_hold.hpp"
#include "agent/event/own_heap.hpp"
#include "agent/process/death_signals.hpp"

namespace traceagent::process {
namespace {

bool is_child = false;  // set where a process has one thread

// We hold no lock of ours across anything; of others', see event::ForkHold. In the child
// only async-signal-safe work is allowed.
void in_child() noexcept {
  is_child = true;
  // The descriptor of the parent's ring stays open: the job may have closed it and given its number
  // to a file of its own. The lock on it is the parent's alone.
  event::end_fork_in_child();
  event::own_heap.inherited_bytes.store(event::own_heap.bytes.load(std::memory_order_relaxed),
                                        std::memory_order_relaxed);
  forget_after_fork();
  unwatch_death_signals();
}

}  // namespace

bool is_forked() noexcept { return is_child; }

bool watch_forks() noexcept {
  static bool watched = false;
  if (!watched)
    watched = pthread_atfork(event::begin_fork, event::end_fork_in_parent, in_child) == 0;
  return watched;
}

}  // namespace traceagent::process
