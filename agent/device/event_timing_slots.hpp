#pragma once
// Pairs of CUDA events, ready for use: a slot for each thread and device. The drain makes slots and
// fills them; a thread of the job takes a ready slot for itself and from then on exchanges pairs
// with the drain through two queues, with no lock and no allocation.

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "agent/device/event_timing_queue.hpp"

namespace traceagent::device {

struct EventPair {
  cudaEvent_t start;
  cudaEvent_t end;
  std::uint32_t life;  // of the slot, in which they were made
};

// An operation of the job whose pair has been recorded.
struct TimedOperation {
  EventPair pair;
  std::uint64_t host_record;  // ring::correlation_of() the call's record
  std::uint64_t stream;       // the handle, as the job passed it
  std::uint64_t begin_ticks;  // of the call
  std::int64_t recorded_ns;   // CLOCK_REALTIME before the start was recorded
  bool is_void;               // nothing to be read from it: only the pair comes back
};

inline constexpr std::size_t pairs_at_most = 4096;

struct EventSlot {
  explicit EventSlot(int of) noexcept : device(of) {}

  const int device;
  std::atomic<std::uint32_t> owner{0};  // thread id, 0: ready for any thread
  std::atomic<bool> is_lost{false};     // its events died with their context
  std::atomic<std::uint32_t> life{1};  // rises when it has others: pairs of an earlier one are dead
  std::atomic<std::uint32_t> wanting{0};  // operations that found no pair
  EventQueue<EventPair, pairs_at_most> ready;
  EventQueue<TimedOperation, pairs_at_most> begun;

  // By its thread. False: there is none.
  bool take(EventPair& pair) noexcept {
    const std::uint32_t now = life.load(std::memory_order_acquire);
    while (ready.pop(pair)) {
      if (pair.life == now) return true;
    }
    return false;
  }
  bool is_dead(const EventPair& pair) const noexcept {
    return is_lost.load(std::memory_order_relaxed) ||
           pair.life != life.load(std::memory_order_relaxed);
  }
};

inline constexpr std::size_t event_slot_count = 64;
// Slots are made once and never freed: a thread may hold one at any time. One whose events are dead
// is given new ones when its device is in use again.
extern constinit std::array<std::atomic<EventSlot*>, event_slot_count> event_slots;

// The calling thread's slot for a device; taken at first use. nullptr: none is ready, and the drain
// is told that one is wanted.
EventSlot* slot_of_thread(int device) noexcept;

// Devices on which something is to be timed, one bit each; up to 64.
extern constinit std::atomic<std::uint64_t> wanted_devices;
inline void want_device(int device) noexcept {
  if (device < 0 || device >= 64) return;
  const std::uint64_t bit = std::uint64_t{1} << device;
  if ((wanted_devices.load(std::memory_order_relaxed) & bit) == 0) {
    wanted_devices.fetch_or(bit, std::memory_order_relaxed);
  }
}

// In a forked child: all of it is the parent's.
void forget_event_slots() noexcept;

}  // namespace traceagent::device
