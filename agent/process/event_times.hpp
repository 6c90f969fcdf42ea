#pragma once
// Device times from CUDA events, as long as CUPTI cannot be had.

#include <atomic>
#include <cstdint>

#include "agent/device/event_timing_poller.hpp"
#include "agent/ring/layout.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::process {

struct Agent;

class EventTimes {
 public:
  // By the drain thread. `is_wanted`: CUPTI was asked for and is taken or refused.
  void poll(Agent& agent, bool is_wanted) noexcept;

  // By the drain thread: what the closed window's calls launched has its times, or is late (option
  // device.settle).
  bool is_settled(const Agent& agent, const ring::Window& window) const noexcept;

  // By the drain thread, as the process ends: waits for what still runs, at most device.settle.
  void finish(const Agent& agent) noexcept;

  // By a thread of the job that ends the process, before CUDA is gone: has the drain thread do it.
  void finish_by_drain(const Agent& agent) noexcept;

  // How many operations were timed, and how many not, by cause; nothing where none was.
  void describe(trace::JsonObject& coverage) const;

 protected:
  device::EventPoller& poller() noexcept { return poller_; }  // tests give it a device

 private:
  bool turn_on(Agent& agent);
  void follow(Agent& agent, bool is_wanted);

  device::EventPoller poller_;
  bool is_refused_ = false;  // there is no CUDA to ask: said once
  bool watches_exit_ = false;
  std::atomic<std::uint32_t> is_ending_{0};
  std::atomic<std::uint32_t> is_finished_{0};  // futex
};

}  // namespace traceagent::process
