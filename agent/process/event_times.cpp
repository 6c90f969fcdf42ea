#include "agent/process/event_times.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "agent/device/event_timing.hpp"
#include "agent/door/event_timing_binding.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/exit.hpp"
#include "agent/process/futex.hpp"
#include "agent/process/notices.hpp"

namespace traceagent::process {
namespace {

using ring::DeviceSource;

std::uint64_t longest_wait_ns(const Agent& agent) noexcept {
  return std::min(agent.options.device_settle, agent.options.exit_timeout / 2);
}

// CUDA's own exit handlers come before the agent's, which was registered first. This one is
// registered when CUDA is in use, and so comes before them.
void at_exit() noexcept {
  static constinit std::atomic<pid_t> done_in{0};  // there are two of these
  Agent* ending = agent.load(std::memory_order_acquire);
  if (ending == nullptr || ending->pid != getpid()) return;
  const HandlerAtExit handler(at_exit);
  if (done_in.exchange(ending->pid, std::memory_order_relaxed) == ending->pid) return;
  ending->event_times.finish_by_drain(*ending);
}

}  // namespace

bool EventTimes::turn_on(Agent& agent) {
  const device::EventApi* api = door::bind_event_api();
  if (api != nullptr) {
    poller_.turn_on(*api, agent.options.device_time_launches);
    if (!watches_exit_) watches_exit_ = watch_exit_by(at_exit);
    return true;
  }
  is_refused_ = true;
  if (is_spokesman(agent, "no-cudart")) {
    say_problem(
        "device times: no libcudart.so is loaded, so that CUDA events cannot time NCCL operations "
        "either: link the program with -cudart shared, or free CUPTI");
  }
  return false;
}

void EventTimes::follow(Agent& agent, bool is_wanted) {
  ring::DeviceBlock& device = agent.ring.ring.header().device;
  DeviceSource source = device.source.load(std::memory_order_acquire);
  // After the source: the device thread may have got CUPTI in this very moment, and then the source
  // is no longer ours.
  const bool cupti_is_on = agent.device.has_cupti();
  if (cupti_is_on || !is_wanted) {
    if (poller_.is_on()) poller_.turn_off();
    if (cupti_is_on && source == DeviceSource::cuda_events) {
      device.source.compare_exchange_strong(source, DeviceSource::cupti);
    }
    return;
  }
  if (is_refused_ || (!poller_.is_on() && !turn_on(agent))) return;
  device.source.compare_exchange_strong(source, DeviceSource::cuda_events);
}

void EventTimes::poll(Agent& agent, bool is_wanted) noexcept try {
  if (is_finished_.load(std::memory_order_relaxed) != 0) return;
  follow(agent, is_wanted);
  const step::State state = agent.windows->state();
  poller_.poll(state != step::State::off && state != step::State::wait);
  if (const char* problem = poller_.take_problem()) {
    if (is_spokesman(agent, "cuda-events")) say_problem(problem);
  }
  if (is_ending_.load(std::memory_order_acquire) != 0) finish(agent);
} catch (...) {
  // Without memory nobody is told.
}

bool EventTimes::is_settled(const Agent& agent, const ring::Window& window) const noexcept {
  // Nobody asks the job's events any more: waiting for them would lose the window.
  if (is_finished_.load(std::memory_order_acquire) != 0) return true;
  const std::uint64_t end_ticks = window.end_ticks.load(std::memory_order_relaxed);
  if (poller_.is_settled(end_ticks)) return true;
  const double waited_ns = static_cast<double>(event::read_ticks() - end_ticks) *
                           agent.ring.ring.header().nominal_ns_per_tick;
  return waited_ns >= static_cast<double>(agent.options.device_settle);
}

void EventTimes::finish(const Agent& agent) noexcept {
  if (is_finished_.load(std::memory_order_relaxed) != 0) return;
  poller_.finish(longest_wait_ns(agent));
  is_finished_.store(1, std::memory_order_release);
  futex_wake(is_finished_);
}

void EventTimes::finish_by_drain(const Agent& agent) noexcept {
  const int saved_errno = errno;
  const std::uint64_t deadline_ns = event::clock_ns(CLOCK_MONOTONIC) + longest_wait_ns(agent);
  is_ending_.store(1, std::memory_order_release);
  while (is_finished_.load(std::memory_order_acquire) == 0) {
    const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= deadline_ns) break;
    futex_wait(is_finished_, 0, std::min(deadline_ns - now_ns, longest_sleep_ns));
  }
  errno = saved_errno;
}

void EventTimes::describe(trace::JsonObject& coverage) const {
  if (poller_.timed() != 0) coverage.add("timed_by_events", poller_.timed());
  for (std::size_t cause = 0; cause < device::untimed_cause_count; ++cause) {
    const std::uint64_t count = device::untimed[cause].load(std::memory_order_relaxed);
    if (count == 0) continue;
    coverage.add("untimed_" + std::string(device::untimed_cause_names[cause]), count);
  }
}

}  // namespace traceagent::process
