#pragma once
// The drain's side of timing by CUDA events: makes the events, asks which have happened, and writes
// their times into the ring (Layout::timed_by_event). Used by the drain thread alone; it waits for
// nothing, and nothing of the job waits for it.

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/device/event_timing_api.hpp"
#include "agent/device/event_timing_base.hpp"
#include "agent/device/event_timing_slots.hpp"

namespace traceagent::device {

class EventPoller {
 public:
  // From here on the job's operations are timed; `launches`: its kernel launches too. `api` is kept
  // for the process's life.
  void turn_on(const EventApi& api, bool launches) noexcept;
  // What is under way is still read.
  void turn_off() noexcept;
  bool is_on() const noexcept { return is_on_; }

  // `records`: calls are being recorded, so that the wall clock must be known well.
  void poll(bool records = true) noexcept;
  // Nothing is under way that began before these ticks.
  bool is_settled(std::uint64_t before_ticks = UINT64_MAX) const noexcept;
  // At the process's end: until all is settled, at most that long; then what still runs is counted.
  void finish(std::uint64_t timeout_ns) noexcept;

  // One line for the user, once; empty: nothing (more) to say.
  const char* take_problem() noexcept;
  std::uint64_t timed() const noexcept { return timed_; }

 private:
  // A slot with what its thread has begun and the device has not finished.
  struct Thread {
    EventSlot* slot;
    std::uint32_t pairs;   // in existence
    std::uint32_t wanted;  // pairs that there should be
    std::uint32_t wanting_seen;
    std::vector<TimedOperation> running;
  };
  struct Device {
    int number;
    std::unique_ptr<EventBase> base;
    std::vector<Thread> threads;
    std::int64_t next_look_ns;  // for threads that have ended
  };

  void look_for_devices();
  bool add_device(int number);
  bool add_thread(Device& device);
  void revive_threads(Device& device);
  void fill(Thread& thread) noexcept;
  bool poll_device(Device& device);
  bool read(Device& device, Thread& thread) noexcept;
  void collect(Thread& thread);
  static bool give(Thread& thread, const EventPair& pair) noexcept;
  void keep_one_ready(Device& device);
  void give_back_of_dead_threads(Device& device) noexcept;
  void lose(Device& device);
  bool context_is_alive(int device) const noexcept;
  bool enter();
  void leave() noexcept;

  const EventApi* api_ = nullptr;
  bool is_on_ = false;
  bool records_ = true;
  bool can_capture_ = false;  // this thread's calls cannot disturb a capture of the job's
  std::vector<Device> devices_;
  std::uint32_t resets_seen_ = 0;
  std::uint64_t refused_devices_ = 0;  // one bit each: not tried again
  std::uint64_t timed_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace traceagent::device
