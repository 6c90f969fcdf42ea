#pragma once
// Times of the job's operations on the device from pairs of CUDA events, where CUPTI is taken or
// refused: the part that runs in the job's threads. A start event is recorded on the operation's
// stream before the real call, an end event after it; the drain reads them
// (event_timing_poller.hpp). No lock, no allocation, no waiting; errno and the thread's last CUDA
// error stay as they were.

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/device/event_timing_api.hpp"
#include "agent/device/event_timing_slots.hpp"
#include "agent/event/record.hpp"

namespace traceagent::device {

// Null: nothing is timed by events. What it points to is never freed.
[[gnu::visibility("hidden")]] extern constinit std::atomic<const EventApi*> event_api;
// Kernel launches too, not only NCCL.
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> launches_are_timed;

inline bool is_timing_by_events() noexcept {
  return event_api.load(std::memory_order_relaxed) != nullptr;
}

// Why an operation that was recorded has no times.
enum class Untimed : std::uint8_t {
  no_events,      // more operations under way than there were pairs, or the first of a thread
  in_capture,     // into a CUDA graph: it does not run now
  pending_error,  // the job has yet to read its last CUDA error, and would read ours
  refused,        // CUDA would not record our event
  not_launched,   // the call failed, or goes on in a thread of NCCL's
  many_streams,   // more streams in one NCCL group than we follow
  lost_device,    // its context was destroyed before the events were read
  not_finished,   // still ran when the process ended
  other_device,   // on a default stream of NCCL's device, while another one was current
  count
};
inline constexpr std::size_t untimed_cause_count = static_cast<std::size_t>(Untimed::count);
inline constexpr std::array<const char*, untimed_cause_count> untimed_cause_names = {
    "no_events",    "in_capture",  "pending_error", "refused",     "not_launched",
    "many_streams", "lost_device", "not_finished",  "other_device"};
extern constinit std::array<std::atomic<std::uint64_t>, untimed_cause_count> untimed;
inline void count_untimed(Untimed cause, std::uint64_t n = 1) noexcept {
  untimed[static_cast<std::size_t>(cause)].fetch_add(n, std::memory_order_relaxed);
}

// One pair of events around one operation. begin() before the real call, end() after it. No
// destructor: it would be looked at after every call, and where end() is not reached (an exception,
// a longjmp) the doors' frames are left without clean-up (door/CMakeLists.txt).
class OperationTimer {
 public:
  OperationTimer() = default;
  OperationTimer(const OperationTimer&) = delete;
  OperationTimer& operator=(const OperationTimer&) = delete;

  // `device`: that the work runs on, -1 where only CUDA knows.
  void begin(const event::Record& record, cudaStream_t stream, int device = -1) noexcept;
  // `launched`: the real call has put its work on the stream.
  void end(bool launched) noexcept {
    if (slot_ != nullptr) end_begun(launched);
  }

 private:
  void end_begun(bool launched) noexcept;
  void give_up(Untimed cause) noexcept;

  EventSlot* slot_ = nullptr;
  // Set where there is a slot: clearing them would be paid for by every call that is not timed.
  const EventApi* api_;  // as begun: timing may be switched off before the end
  TimedOperation operation_;
};

// A default stream (0, legacy, per thread) is no object that could be asked.
inline bool is_default_stream(cudaStream_t stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

// The device that work on this stream runs on, -1 if CUDA does not say.
int device_of_stream(cudaStream_t stream) noexcept;

// Before the job resets a device: all events there die with its contexts. Waits until the drain
// has let go of them, at most 100 ms.
void before_device_reset() noexcept;

// How often a device has been reset, and whether the drain is within CUDA at this moment.
extern constinit std::atomic<std::uint32_t> device_resets;
extern constinit std::atomic<bool> drain_uses_events;

// In a forked child.
void forget_event_timing() noexcept;

}  // namespace traceagent::device
