#pragma once
// CUPTI's life in this process: subscribed and enabled while a window wants it, left alone
// otherwise, never finalised. One session for a process; never destroyed, since CUPTI may call back
// at any time.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "agent/device/activity_buffers.hpp"
#include "agent/device/api_functions.hpp"
#include "agent/device/cuda_driver.hpp"
#include "agent/device/cupti_library.hpp"
#include "agent/device/cupti_problem.hpp"
#include "agent/device/record_reader.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::device {

class CuptiSession {
 public:
  // `buffer_bytes`: all that is ever lent to CUPTI, but see lend().
  CuptiSession(ring::Ring ring, std::size_t buffer_bytes, LookUp look_up);
  // With this library instead of one that is looked for.
  CuptiSession(ring::Ring ring, std::size_t buffer_bytes, CuptiLibrary library);

  // Before all else: a version that is known to hang or crash is used too.
  void accept_unsafe() noexcept { accepts_unsafe_ = true; }
  // Likewise: waits are recorded too, at a price that stays (see the .cpp).
  void record_waits() noexcept { records_waits_ = true; }

  // The four below: one thread of ours at a time, and never one of the job's.
  // Opens the library and learns its functions' names, which takes longer than a short step.
  void prepare() noexcept;
  // Subscribes and enables. What comes of it is also in the ring's DeviceBlock.
  CuptiState enable() noexcept;
  // Delivers what is there; `forced`: also what has not ended yet, which is then lost.
  void flush(bool forced) noexcept;
  // Flushes by force, disables, unsubscribes, gives the job's callbacks back.
  void disable() noexcept;

  CuptiState state() const noexcept { return state_.load(std::memory_order_acquire); }
  bool is_recording() const noexcept { return state() == CuptiState::recording; }
  // Why it does not record, as a line for the user; empty: nothing is the matter. By our thread.
  std::string problem() const;
  const CuptiLibrary& library() const noexcept { return library_; }
  // What threads of CUPTI's and of the job have spent on our buffers.
  std::uint64_t callback_cpu_ns() const noexcept {
    return callback_cpu_ns_.load(std::memory_order_relaxed);
  }
  const ActivityBuffers& buffers() const noexcept { return buffers_; }
  const RecordReader* reader() const noexcept { return reader_.get(); }

  // In a forked child of a process that had a session: CUPTI's state is a copy of the parent's, and
  // not to be touched.
  static bool is_inherited() noexcept;

  // A thread of the job wants CUPTI for itself: see cupti_yield.hpp.
  void yield() noexcept;

 private:
  class Held;

  CuptiState fail(CuptiState state, CuptiResult result) noexcept;
  void give_up() noexcept;
  // More than the pool to a CUPTI that crashes where it is refused a buffer.
  std::byte* lend() noexcept;
  void take_back(const std::byte* buffer, std::size_t valid_bytes) noexcept;
  CuptiState open() noexcept;
  CuptiResult start() noexcept;
  CuptiResult enable_kinds() noexcept;
  void enable_api(bool is_driver) noexcept;
  void stop() noexcept;
  void disable_kinds() noexcept;
  void deliver(bool forced) noexcept;
  void count_dropped(void* context, std::uint32_t stream) noexcept;
  void describe_devices() noexcept;
  bool is_ours() const noexcept;

  static void on_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) noexcept;
  static void on_complete(void* context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t bytes, std::size_t valid_bytes) noexcept;
  static void on_callback(void* user, int domain, std::uint32_t id, const void* data) noexcept;

  ring::Ring ring_;
  const std::size_t buffer_bytes_;
  const LookUp look_up_;
  bool accepts_unsafe_ = false;
  bool records_waits_ = false;
  const int pid_;
  CudaDriver driver_;
  CuptiLibrary library_;
  ApiFunctions api_;
  ActivityBuffers buffers_;
  std::unique_ptr<RecordReader> reader_;
  void* subscriber_ = nullptr;
  int thread_ids_before_ = 0;  // of the job's own use of CUPTI; 0: CUPTI's default
  std::atomic<CuptiState> state_{CuptiState::off};
  std::atomic<CuptiResult> problem_result_{0};
  std::atomic<std::uint64_t> callback_cpu_ns_{0};
  std::int64_t kinds_since_ns_ = 0;  // CLOCK_REALTIME: all kinds were on, the last time
  std::uint64_t described_devices_ = 0;
  std::string described_streams_;
  // Between our thread and a thread of the job that yields. No callback takes it, and whoever
  // waits for it gives up after a while: CUPTI may be held by the other.
  std::atomic<bool> held_{false};
};

}  // namespace traceagent::device
