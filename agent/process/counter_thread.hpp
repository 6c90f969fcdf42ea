#pragma once
// A thread that samples counters while a window is open, and sleeps otherwise: not the drain's,
// since what is asked may hang (NVML of a GPU that is lost), and since it has descriptors of its
// own.

#include <atomic>
#include <cstdint>
#include <memory>

#include "agent/counters/recorder.hpp"

namespace traceagent::process {

struct Agent;

class CounterThread {
 public:
  // Returns 0, or the number of the error for which there is no thread.
  int start(Agent& agent, std::unique_ptr<counters::Source> source, const char* name) noexcept;
  // The state has changed: from a thread of the job, one system call.
  void wake() noexcept;
  void stop() noexcept;

  bool is_started() const noexcept { return is_started_.load(std::memory_order_acquire); }
  // What was begun at `ticks` or later is in the ring, or left out.
  bool has_sampled_since(std::uint64_t ticks) const noexcept;
  // For how long its present sample has taken; 0: it is at none.
  std::uint64_t busy_ns() const noexcept;
  // Without what opening took, once.
  std::uint64_t own_cpu_ns() const noexcept { return own_cpu_ns_.load(std::memory_order_relaxed); }
  // Samples for which the ring had no room.
  std::uint64_t missed() const noexcept { return missed_.load(std::memory_order_relaxed); }
  // How often waking it was refused: what it should have sampled then may be missing.
  std::uint64_t not_woken() const noexcept { return not_woken_.load(std::memory_order_relaxed); }
  // The longest pause that was made for the budget's sake; 0: none.
  std::uint64_t stretched_ns() const noexcept {
    return stretched_ns_.load(std::memory_order_relaxed);
  }
  // Edges of windows at which nothing was sampled, for the budget's sake.
  std::uint64_t edges_left_out() const noexcept {
    return edges_left_out_.load(std::memory_order_relaxed);
  }

 private:
  static void* run(void* self) noexcept;
  void loop() noexcept;
  void open(counters::Recorder& recorder) noexcept;
  void sample(counters::Recorder& recorder, bool is_first) noexcept;
  void wake_at_once() noexcept;
  void note_own_cpu() noexcept;
  void note_sampled(std::uint64_t ticks) noexcept;
  void leave_out(std::uint64_t ticks) noexcept;
  std::uint64_t price_ns(std::uint64_t cost_ns) const noexcept;
  std::uint64_t pause_ns(std::uint64_t cost_ns) noexcept;
  void pay(std::uint64_t cost_ns) noexcept;
  bool is_overdrawn() const noexcept;
  void sleep(std::uint32_t seen, std::uint64_t until_ns) noexcept;

  Agent* agent_ = nullptr;
  const char* name_ = nullptr;
  std::unique_ptr<counters::Source> source_;
  std::uint64_t opening_cpu_ns_ = 0;
  std::atomic<bool> is_started_{false};
  std::atomic<bool> is_stopped_{false};
  std::atomic<std::uint32_t> word_{0};  // futex: something has changed
  std::atomic<std::uint64_t> sampled_ticks_{0};
  std::atomic<std::uint64_t> busy_since_ns_{0};
  std::atomic<std::uint64_t> own_cpu_ns_{0};
  std::atomic<std::uint64_t> stretched_ns_{0};
  std::atomic<std::uint64_t> paid_until_ns_{0};
  std::atomic<std::uint64_t> edges_left_out_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> not_woken_{0};
};

}  // namespace traceagent::process
