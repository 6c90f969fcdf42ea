#include "agent/device/event_timing_poller.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <new>
#include <utility>

#include "agent/device/event_timing.hpp"
#include "agent/event/device_record.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::device {
namespace {

constexpr std::uint32_t pairs_at_first = 128;
// Each takes CUDA about a microsecond: the drain has other things to do as well.
constexpr std::uint32_t pairs_at_once = 512;
constexpr std::int64_t thread_look_period_ns = 100'000'000;

std::int64_t wall_ns() noexcept {
  return static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
}

bool tell(const TimedOperation& operation, int device, const EventTimes& times) noexcept {
  ring::writer.full_cause = ring::DropCause::device_ring_full;
  event::Record* record = ring::claim(ring::writer);
  if (record == nullptr) return false;
  const auto error_ns =
      static_cast<std::uint32_t>(std::min<std::int64_t>(times.error_ns, UINT32_MAX));
  event::fill(*record,
              event::TimedByEvent{operation.host_record, operation.stream, times.start_ns,
                                  times.end_ns, error_ns, static_cast<std::uint16_t>(device)});
  const std::uint64_t ticks = event::read_ticks();
  record->end_ticks.store(ticks, std::memory_order_relaxed);
  ring::publish(*record, ticks);
  return true;
}

}  // namespace

void EventPoller::turn_on(const EventApi& api, bool launches) noexcept {
  api_ = &api;
  is_on_ = true;
  // Resets before the first event was made are nothing to it.
  if (devices_.empty()) resets_seen_ = device_resets.load(std::memory_order_seq_cst);
  launches_are_timed.store(launches, std::memory_order_relaxed);
  // A call of ours in global mode would end a capture that another thread has begun.
  if (!can_capture_) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    can_capture_ = api.exchange_capture_mode(&mode) == cudaSuccess;
  }
  if (!can_capture_) return turn_off();
  // Slots first: the next operation of the job finds them.
  poll();
  event_api.store(api_, std::memory_order_release);
}

void EventPoller::turn_off() noexcept {
  is_on_ = false;
  event_api.store(nullptr, std::memory_order_release);
}

// False: the job is resetting a device, or has. See before_device_reset().
bool EventPoller::enter() {
  drain_uses_events.store(true, std::memory_order_seq_cst);
  const std::uint32_t resets = device_resets.load(std::memory_order_seq_cst);
  if (resets == resets_seen_) return true;
  resets_seen_ = resets;
  for (Device& device : devices_) lose(device);
  devices_.clear();
  drain_uses_events.store(false, std::memory_order_seq_cst);
  return false;
}

void EventPoller::leave() noexcept {
  // What CUDA answered to this thread is nobody's error.
  api_->take_error();
  drain_uses_events.store(false, std::memory_order_seq_cst);
}

void EventPoller::poll(bool records) noexcept try {
  if (api_ == nullptr) return;
  records_ = records;
  if (is_on_) look_for_devices();
  for (std::size_t i = 0; i < devices_.size();) {
    if (!enter()) return;
    const bool is_alive = poll_device(devices_[i]);
    if (!is_alive) {
      lose(devices_[i]);
      devices_.erase(devices_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
    leave();
  }
} catch (...) {
  turn_off();
  problem_ = "device times: out of memory: NCCL operations are no longer timed by CUDA events";
  drain_uses_events.store(false, std::memory_order_seq_cst);
}

bool EventPoller::context_is_alive(int device) const noexcept {
  unsigned flags = 0;
  int active = 1;
  return api_->context_state == nullptr ||
         (api_->context_state(device, &flags, &active) == 0 && active != 0);
}

void EventPoller::look_for_devices() {
  std::uint64_t wanted = wanted_devices.load(std::memory_order_relaxed) & ~refused_devices_;
  for (const Device& device : devices_) wanted &= ~(std::uint64_t{1} << device.number);
  for (int number = 0; wanted != 0; ++number, wanted >>= 1) {
    if ((wanted & 1) == 0) continue;
    if (!enter()) return;
    // Choosing a device makes its context: never the first to do so.
    if (context_is_alive(number) && !add_device(number)) {
      refused_devices_ |= std::uint64_t{1} << number;
      problem_ =
          "device times: CUDA events cannot be made: NCCL operations have no device times; free "
          "some GPU memory, or look at what nvidia-smi says";
    }
    leave();
  }
}

bool EventPoller::add_device(int number) {
  if (api_->set_device(number) != cudaSuccess) return false;
  Device device{number, std::make_unique<EventBase>(*api_), {}, 0};
  if (!device.base->prepare() || !device.base->renew(wall_ns())) return false;
  revive_threads(device);
  if (device.threads.empty() && !add_thread(device)) return false;
  devices_.push_back(std::move(device));
  return true;
}

// A job may reset its device again and again: its threads go on with the slots they have.
void EventPoller::revive_threads(Device& device) {
  for (const auto& place : event_slots) {
    EventSlot* slot = place.load(std::memory_order_relaxed);
    if (slot == nullptr || slot->device != device.number || !slot->is_lost.load()) continue;
    const std::uint32_t wanting = slot->wanting.load(std::memory_order_relaxed);
    device.threads.push_back({slot, 0, pairs_at_first, wanting, {}});
    collect(device.threads.back());
    slot->life.fetch_add(1, std::memory_order_release);
    fill(device.threads.back());
    // Release: who finds it alive sees its life.
    slot->is_lost.store(false, std::memory_order_release);
  }
}

bool EventPoller::add_thread(Device& device) {
  const auto place = std::find_if(event_slots.begin(), event_slots.end(), [](const auto& each) {
    return each.load(std::memory_order_relaxed) == nullptr;
  });
  if (place == event_slots.end()) return false;
  auto slot = std::make_unique<EventSlot>(device.number);
  device.threads.push_back({slot.get(), 0, pairs_at_first, 0, {}});
  fill(device.threads.back());
  // Release pairs with the threads' acquire. From here on it lives as long as the process.
  place->store(slot.release(), std::memory_order_release);
  return device.threads.back().pairs != 0;
}

void EventPoller::fill(Thread& thread) noexcept {
  const std::uint32_t wanting = thread.slot->wanting.load(std::memory_order_relaxed);
  if (wanting != thread.wanting_seen) {
    thread.wanting_seen = wanting;
    thread.wanted = std::min<std::uint32_t>(thread.wanted * 2, pairs_at_most);
  }
  for (std::uint32_t i = 0; i < pairs_at_once && thread.pairs < thread.wanted; ++i) {
    EventPair pair{nullptr, nullptr, thread.slot->life.load(std::memory_order_relaxed)};
    if (api_->create_event(&pair.start, cudaEventDefault) != cudaSuccess ||
        api_->create_event(&pair.end, cudaEventDefault) != cudaSuccess) {
      thread.wanted = thread.pairs;  // what there is must do
      return;
    }
    ++thread.pairs;
    if (!give(thread, pair)) {
      thread.wanted = thread.pairs;
      return;
    }
  }
}

// Dead pairs that its thread has not passed over yet may leave no place.
bool EventPoller::give(Thread& thread, const EventPair& pair) noexcept {
  const bool is_given = thread.slot->ready.push(pair);
  if (!is_given) --thread.pairs;
  return is_given;
}

bool EventPoller::poll_device(Device& device) {
  if (!context_is_alive(device.number) || api_->set_device(device.number) != cudaSuccess) {
    return false;
  }
  if (is_on_ && records_ && !device.base->renew(wall_ns())) return false;
  for (Thread& thread : device.threads) {
    collect(thread);
    if (!read(device, thread)) return false;
    if (is_on_) fill(thread);
  }
  if (is_on_) {
    keep_one_ready(device);
    give_back_of_dead_threads(device);
  }
  return true;
}

void EventPoller::collect(Thread& thread) {
  TimedOperation operation;
  while (thread.slot->begun.pop(operation)) {
    const bool is_dead = thread.slot->is_dead(operation.pair);
    if (is_dead && !operation.is_void) count_untimed(Untimed::lost_device);
    if (is_dead) continue;
    if (operation.is_void) {
      give(thread, operation.pair);
    } else {
      thread.running.push_back(operation);
    }
  }
}

// Stops at the first of each stream that still runs: what comes after it runs too.
bool EventPoller::read(Device& device, Thread& thread) noexcept {
  constexpr std::size_t most_streams = 16;
  std::uint64_t busy[most_streams];
  std::size_t busy_count = 0;
  std::size_t kept = 0;
  bool is_alive = true;
  for (std::size_t i = 0; i < thread.running.size(); ++i) {
    const TimedOperation operation = thread.running[i];
    const bool waits =
        !is_alive || std::find(busy, busy + busy_count, operation.stream) != busy + busy_count;
    const cudaError_t answer = waits ? cudaErrorNotReady : api_->query(operation.pair.end);
    if (answer == cudaErrorNotReady) {
      if (!waits && busy_count < most_streams) busy[busy_count++] = operation.stream;
      thread.running[kept++] = operation;
      continue;
    }
    const auto times =
        answer == cudaSuccess
            ? device.base->times_of(operation.pair.start, operation.pair.end, operation.recorded_ns)
            : std::nullopt;
    if (times) {
      if (tell(operation, device.number, *times)) ++timed_;
      give(thread, operation.pair);
    } else if (device.base->is_known()) {
      // The context is gone or broken: no event of it can be used again.
      thread.running[kept++] = operation;
      is_alive = false;
    } else {
      count_untimed(Untimed::refused);
      give(thread, operation.pair);
    }
  }
  // resize() would ask for memory as far as the compiler sees.
  thread.running.erase(thread.running.begin() + static_cast<std::ptrdiff_t>(kept),
                       thread.running.end());
  return is_alive;
}

void EventPoller::keep_one_ready(Device& device) {
  const bool has_ready = std::any_of(
      device.threads.begin(), device.threads.end(),
      [](const Thread& thread) { return thread.slot->owner.load(std::memory_order_relaxed) == 0; });
  if (!has_ready) add_thread(device);
}

void EventPoller::give_back_of_dead_threads(Device& device) noexcept {
  const std::int64_t now_ns = wall_ns();
  if (now_ns < device.next_look_ns) return;
  device.next_look_ns = now_ns + thread_look_period_ns;
  const auto process = static_cast<int>(syscall(SYS_getpid));
  for (Thread& thread : device.threads) {
    const std::uint32_t owner = thread.slot->owner.load(std::memory_order_acquire);
    if (owner == 0) continue;
    // What it began is read as before: the next owner only goes on where it stopped.
    const bool is_dead = syscall(SYS_tgkill, process, owner, 0) != 0 && errno == ESRCH;
    if (is_dead) thread.slot->owner.store(0, std::memory_order_release);
  }
}

// No event is destroyed: they died with their context, and CUDA may not even know them any more.
void EventPoller::lose(Device& device) {
  for (Thread& thread : device.threads) {
    thread.slot->is_lost.store(true, std::memory_order_relaxed);
    collect(thread);
    count_untimed(Untimed::lost_device, thread.running.size());
    thread.running.clear();
  }
  wanted_devices.fetch_and(~(std::uint64_t{1} << device.number), std::memory_order_relaxed);
}

bool EventPoller::is_settled(std::uint64_t before_ticks) const noexcept {
  return std::all_of(devices_.begin(), devices_.end(), [&](const Device& device) {
    return std::all_of(device.threads.begin(), device.threads.end(), [&](const Thread& thread) {
      return std::none_of(
          thread.running.begin(), thread.running.end(),
          [&](const TimedOperation& operation) { return operation.begin_ticks < before_ticks; });
    });
  });
}

void EventPoller::finish(std::uint64_t timeout_ns) noexcept {
  turn_off();
  const std::uint64_t deadline_ns = event::clock_ns(CLOCK_MONOTONIC) + timeout_ns;
  poll();
  while (!is_settled() && event::clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    poll();
  }
  for (const Device& device : devices_) {
    for (const Thread& thread : device.threads) {
      count_untimed(Untimed::not_finished, thread.running.size());
    }
  }
}

const char* EventPoller::take_problem() noexcept { return std::exchange(problem_, nullptr); }

}  // namespace traceagent::device
