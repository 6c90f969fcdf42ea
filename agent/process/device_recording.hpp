#pragma once
// The device side of the agent: a thread that lives with CUPTI, so that nothing CUPTI does (seconds
// to start, a hang in a process that is ending) holds the drain thread or the job.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/device/cupti_session.hpp"
#include "agent/process/step_pace.hpp"
#include "agent/ring/layout.hpp"
#include "agent/step/state.hpp"

namespace traceagent::process {

struct Agent;

class DeviceRecording {
 public:
  // By the thread of the job that has just made the first call of a device, and never before, since
  // a process that only forks workers must not be the one that initialises CUDA. Starts the thread
  // and waits until CUPTI is on or refused, at most `patience_ns`: a program of a few milliseconds
  // would be over before that. In cuInit too, without patience; then the first call of a device
  // only waits.
  void start(Agent& agent, std::uint64_t patience_ns) noexcept;

  // By the drain thread: all that the closed window's calls launched has been told of, or is given
  // up (option device.settle) and counted.
  bool is_settled(const ring::Window& window) noexcept;

  // The process ends: the last flush, then CUPTI is left alone. From any thread, signal handlers'
  // excepted; waits at most `timeout_ns`.
  void finish(std::uint64_t timeout_ns) noexcept;

  // The state has changed: from a thread of the job, one system call.
  void wake() noexcept;

  bool is_left_out() const noexcept {
    return left_out_.load(std::memory_order_relaxed) != LeftOut::no;
  }
  // By the drain thread, for the budget's sake: CUPTI stays off from the next window on, or at
  // once.
  void leave_out(bool from_next_window, bool at_once) noexcept;
  // What our thread and those of CUPTI's that hand us its buffers have worked.
  std::uint64_t own_cpu_ns() const noexcept { return own_cpu_ns_.load(std::memory_order_relaxed); }

  // CUPTI could not be had when it was wanted last, or the job has taken it since.
  bool is_refused() const noexcept {
    return is_refused_.load(std::memory_order_relaxed) ||
           (is_running_.load(std::memory_order_acquire) &&
            session_->state() == device::CuptiState::taken);
  }

  bool has_cupti() const noexcept {
    return is_running_.load(std::memory_order_acquire) && session_->is_recording();
  }

 private:
  struct Settling {
    std::uint64_t begin_ticks = 0;  // of the window that uses the slot
    std::uint64_t since_ns = 0;
    std::uint64_t next_look_ns = 0;
    std::uint64_t progress_ns = 0;
    std::uint64_t fewest = UINT64_MAX;  // launches that were missing
    std::uint32_t asked = 0;
    bool is_forced = false;
  };

  static void* run(void* self) noexcept;
  void loop() noexcept;
  void work() noexcept;
  void try_enable() noexcept;
  void prepare() noexcept;
  void note_tried() noexcept;
  void sleep(std::uint32_t seen) noexcept;
  bool is_wanted() const noexcept;
  void look_how_near() noexcept;
  bool is_left_out(step::State state) const noexcept;
  bool serves_older_window() const noexcept;
  bool look_if_settled(const ring::Window& window, std::size_t slot) noexcept;
  bool may_be_wanted_soon() const noexcept;
  bool may_deliver() const noexcept;
  bool start_thread() noexcept;

  std::uint32_t ask(bool forced) noexcept;
  bool is_delivered(std::uint32_t asked) const noexcept;
  std::uint64_t outstanding(const ring::Window& window) const noexcept;
  std::uint64_t lost(const ring::Window& window) const noexcept;
  std::uint64_t outstanding_anywhere() const noexcept;
  bool wait_for(std::uint32_t asked, std::uint64_t deadline_ns) noexcept;
  void deliver_last(std::uint64_t deadline_ns) noexcept;

  Agent* agent_ = nullptr;
  device::CuptiSession* session_ = nullptr;  // never destroyed: CUPTI may call back at any time
  std::atomic<bool> is_started_{false};
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_refused_{false};
  std::atomic<bool> is_enabling_{false};  // our thread is within CUPTI's start

  // The device thread's own.
  bool was_refused_ = false;
  bool is_prepared_ = false;
  bool has_started_ = false;
  bool is_near_ = false;  // the schedule's next warm-up
  std::uint64_t look_again_ns_ = 0;
  StepPace pace_;
  step::State tried_in_ = step::State::off;
  std::uint64_t last_wanted_ns_ = 0;
  std::uint32_t said_ = 0;  // one bit for each CuptiState
  bool watches_exit_ = false;

  enum class LeftOut : std::uint8_t { no, from_next_window, at_once };
  std::atomic<LeftOut> left_out_{LeftOut::no};
  std::atomic<std::uint64_t> left_out_since_ticks_{0};
  std::atomic<std::uint64_t> own_cpu_ns_{0};
  std::uint64_t start_cpu_ns_ = 0;  // of CUPTI's first start

  std::array<Settling, ring::window_slots> settling_{};
  // begin_ticks of windows that are settled: they may still wait to be written.
  std::array<std::atomic<std::uint64_t>, ring::window_slots> settled_{};
  std::atomic<std::uint32_t> word_{0};  // futex: something has changed
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> asked_forced_{0};
  std::atomic<std::uint32_t> delivered_{0};  // futex: the flush that was asked for has returned
  std::atomic<std::uint32_t> tried_{0};      // futex: CUPTI is on or refused for the first time
  std::atomic<bool> is_finishing_{false};
  std::atomic<bool> is_finished_{false};  // or given up
  std::atomic<std::uint32_t> stop_{0};
  std::atomic<std::uint32_t> stopped_{0};  // futex
};

}  // namespace traceagent::process
