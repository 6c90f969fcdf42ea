#pragma once
// Which counters this process samples, and who waits for them: nobody for long.

#include <cstdint>

#include "agent/process/counter_thread.hpp"
#include "agent/ring/layout.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::process {

struct Agent;

class CounterSampling {
 public:
  // By the drain thread, once: the startup window is open by then.
  void start(Agent& agent) noexcept;
  void wake() noexcept;

  // By the drain thread: the closed window has its last samples, or they are given up.
  bool is_settled(const ring::Window& window) const noexcept;
  // The process ends and no window is open any more: waits for what is_settled() says.
  void finish(const Agent& agent) noexcept;

  std::uint64_t own_cpu_ns() const noexcept {
    return of_proc_.own_cpu_ns() + of_gpus_.own_cpu_ns();
  }
  // What only the living process knows.
  void describe(trace::JsonObject& coverage) const;

 private:
  bool is_awaited(const CounterThread& thread, std::uint64_t ticks) const noexcept;

  CounterThread of_proc_, of_gpus_;
  std::uint64_t patience_ticks_ = 0;
  bool has_small_ring_ = false;
  bool is_without_memory_ = false;
  bool is_finished_ = false;
};

}  // namespace traceagent::process
