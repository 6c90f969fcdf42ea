#include "agent/process/drain_thread.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/event/ticks.hpp"
#include "agent/event/usual_floats.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/dead_workers.hpp"
#include "agent/process/futex.hpp"
#include "agent/process/last_thread.hpp"
#include "agent/process/last_work.hpp"
#include "agent/process/locked_out.hpp"
#include "agent/process/old_rings.hpp"
#include "agent/process/own_thread.hpp"
#include "agent/process/window_writer.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::process {
namespace {

constexpr std::uint64_t ms = 1'000'000;
// While recording: often enough to free chunks long before 64 MiB are full at 10 M events/s.
constexpr std::uint64_t recording_period_ns = 20 * ms;
constexpr std::uint64_t waiting_period_ns = 100 * ms;
// Nothing will be recorded any more: it waits for the exit, and looks if it is alone.
constexpr std::uint64_t off_period_ns = 1000 * ms;
constexpr std::uint64_t look_period_ns = 1000 * ms;
constexpr std::uint64_t first_look_after_ns = 200 * ms;
constexpr std::size_t stack_bytes = 1024 * 1024;

bool any_window_closed(const Agent& agent) noexcept {
  const auto& windows = agent.ring.ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), [](const ring::Window& window) {
    return window.state.load(std::memory_order_acquire) == ring::WindowState::closed;
  });
}

}  // namespace

int DrainThread::start(Agent& agent) noexcept {
  agent_ = &agent;
  return start_own_thread(stack_bytes, drain_thread_name, run, this);
}

void* DrainThread::run(void* self) noexcept {
  const event::UsualFloats usual_floats;
  static_cast<DrainThread*>(self)->thread_.store(static_cast<pid_t>(syscall(SYS_gettid)),
                                                 std::memory_order_release);
  leave_starters_scheduling();
  static_cast<DrainThread*>(self)->loop();
  return nullptr;
}

void DrainThread::sleep(const WindowWriter& writer) noexcept {
  std::uint64_t period_ns = recording_period_ns;
  if (agent_->windows->state() == step::State::wait && !writer.wants_close_looks()) {
    period_ns = waiting_period_ns;
  }
  period_ns =
      std::min({period_ns, agent_->tracker->longest_pause_ns(), writer.next_anchor_in_ns()});
  // The last window closes before the state turns off: what is seen here is all there will be.
  if (agent_->windows->state() == step::State::off && !any_window_closed(*agent_)) {
    period_ns = off_period_ns;
  }
  futex_wait(wake_, 0, period_ns);
}

// After pthread_exit in main the process lives as long as its threads: it must not live for ours,
// which block every signal.
bool DrainThread::is_alone() noexcept {
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + look_period_ns;
  return is_last_thread();
}

// The whole of a usual ring at the first turn, and of a large one as much at a time, unless the
// process ends. By bytes and not by time: where memory comes slowly a thread of the job that meets
// a page before this one has touched it waits for it in a call. False once all is touched.
bool DrainThread::prefault(WindowWriter& writer) noexcept {
  constexpr int most_pieces = 64;
  bool has_more = true;
  for (int i = 0; has_more && i < most_pieces && wake_.load(std::memory_order_acquire) == 0; ++i) {
    // All of a usual ring takes 20 ms, in which a process may be killed.
    writer.take_anchor();
    has_more = writer.prefault();
  }
  return has_more;
}

void DrainThread::loop() noexcept {
  // Our own file work is no event of the job, whatever library it should one day go through.
  ring::writer.nested_in_start = 1;
  WindowWriter writer(*agent_);
  bool has_more_to_touch = prefault(writer);
  agent_->counters.start(*agent_);
  DeadWorkers workers;
  // Not at the exit: nobody waits for this thread now, and a job that is killed has done it too.
  remove_old_rings(*agent_);
  while (wake_.load(std::memory_order_acquire) == 0 && !is_alone()) {
    writer.poll();
    workers.look(*agent_);
    if (has_more_to_touch) has_more_to_touch = prefault(writer);
    sleep(writer);
  }
  const bool was_told = wake_.load(std::memory_order_acquire) != 0;
  do_last_work(*agent_, writer);
  done_.store(1, std::memory_order_release);
  futex_wake(done_);
  if (!was_told) end_as_last_thread();
}

bool DrainThread::finish(std::uint64_t timeout_ns) noexcept {
  return finish_until(event::clock_ns(CLOCK_MONOTONIC) + timeout_ns, true);
}

bool DrainThread::finish_within(std::uint64_t timeout_ns) noexcept {
  return finish_until(event::clock_ns(CLOCK_MONOTONIC) + timeout_ns, false);
}

void DrainThread::allow(std::uint64_t duration_ns) noexcept {
  put_off_until_ns_.store(event::clock_ns(CLOCK_MONOTONIC) + duration_ns,
                          std::memory_order_relaxed);
}

bool DrainThread::finish_until(std::uint64_t deadline_ns, bool may_be_put_off) noexcept {
  const int saved_errno = errno;
  wake_.store(1, std::memory_order_release);
  futex_wake(wake_);
  LockedOut locked_out;
  // Of an exit.timeout of nothing a lock that is held for a moment would be the end.
  const std::uint64_t longest_locked_out_ns =
      std::max<std::uint64_t>(agent_->options.exit_timeout, 1000 * ms);
  // Most ends are over by then, and need no look at /proc.
  const std::uint64_t first_look_ns = event::clock_ns(CLOCK_MONOTONIC) + first_look_after_ns;
  while (done_.load(std::memory_order_acquire) == 0) {
    const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t put_off_ns = put_off_until_ns_.load(std::memory_order_relaxed);
    const std::uint64_t until_ns = may_be_put_off ? std::max(deadline_ns, put_off_ns) : deadline_ns;
    if (now_ns >= until_ns) break;
    const pid_t thread = thread_.load(std::memory_order_acquire);
    if (thread != 0 && now_ns >= first_look_ns &&
        locked_out.look(thread) * longest_sleep_ns >= longest_locked_out_ns) {
      is_locked_out_.store(true, std::memory_order_release);
      break;
    }
    futex_wait(done_, 0, std::min(until_ns - now_ns, longest_sleep_ns));
  }
  errno = saved_errno;
  return done_.load(std::memory_order_acquire) != 0;
}

}  // namespace traceagent::process
