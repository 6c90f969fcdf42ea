#pragma once
// A device for tests of event timing: streams that are busy as told, events that happen when their
// stream gets there, captures that unsafe calls end, errors that stick to a thread as CUDA's do.

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "agent/device/event_timing_api.hpp"
#include "agent/event/ticks.hpp"

namespace traceagent::device {

class FakeGpu {
 public:
  struct Stream {
    std::int64_t free_at_ns = 0;  // wall clock
    bool is_capturing = false;
    int device = 0;
  };
  struct Event {
    std::int64_t at_ns = 0;  // wall clock; 0: not recorded
    int device = 0;
    bool is_dead = false;  // died with its context
  };

  std::mutex mutex;
  std::deque<Stream> streams;
  std::array<Stream, 2> default_streams{{{0, false, 0}, {0, false, 1}}};
  std::deque<Event> events;
  bool capture_was_ended = false;
  int context_is_active = 1;
  int events_left = 1 << 20;            // as many can be made
  std::atomic<int> stream_devices = 0;  // calls of cudaStreamGetDevice
  int dead_uses = 0;                    // of events that are gone
  std::atomic<int> calls_of_job = 0;    // from job's threads, all but asking for the last error
  cudaError_t record_result = cudaSuccess;
  cudaError_t query_result = cudaSuccess;
  double drift = 0;                // of the device's clock
  std::int64_t clock_zero_ns = 0;  // its epoch

  static inline std::unique_ptr<FakeGpu> now_in_use;
  static inline thread_local cudaError_t last_error = cudaSuccess;
  static inline thread_local int current_device = 0;
  static inline thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

  static FakeGpu& get() { return *now_in_use; }
  static cudaStream_t handle(Stream& stream) { return reinterpret_cast<cudaStream_t>(&stream); }
  static std::int64_t wall_ns() {
    return static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
  }

  cudaStream_t add_stream(int device = 0) {
    std::lock_guard lock(mutex);
    streams.push_back({0, false, device});
    return handle(streams.back());
  }
  Stream& stream(cudaStream_t handle) {
    return handle != nullptr ? *reinterpret_cast<Stream*>(handle)
                             : default_streams[static_cast<std::size_t>(current_device)];
  }
  // A kernel; the wall-clock times at which it begins and ends.
  std::pair<std::int64_t, std::int64_t> launch(cudaStream_t on, std::int64_t length_ns) {
    std::lock_guard lock(mutex);
    const std::int64_t begin_ns = std::max(wall_ns(), stream(on).free_at_ns);
    stream(on).free_at_ns = begin_ns + length_ns;
    return {begin_ns, begin_ns + length_ns};
  }
  void kill_contexts() {
    std::lock_guard lock(mutex);
    for (Event& event : events) event.is_dead = true;
  }

  EventApi api() const {
    EventApi api{};
    api.get_device = get_device;
    api.record = record;
    api.stream_is_capturing = stream_is_capturing;
    api.stream_device = stream_device;
    api.peek_error = [] { return last_error; };
    api.take_error = [] { return std::exchange(last_error, cudaSuccess); };
    api.set_device = set_device;
    api.create_event = create_event;
    api.create_stream = create_stream;
    api.query = query;
    api.elapsed_ms = elapsed_ms;
    api.exchange_capture_mode = exchange_capture_mode;
    api.context_state = [](int, unsigned*, int* active) {
      *active = get().context_is_active;
      return 0;
    };
    return api;
  }

 private:
  static cudaError_t said(cudaError_t result) {
    if (result != cudaSuccess) last_error = result;
    return result;
  }
  // What CUDA forbids while a capture is under way, unless this thread is relaxed about it.
  static void be_unsafe() {
    if (capture_mode == cudaStreamCaptureModeRelaxed) return;
    for (const Stream& stream : get().streams) get().capture_was_ended |= stream.is_capturing;
  }
  static Event& event_of(cudaEvent_t handle) {
    auto& event = *reinterpret_cast<Event*>(handle);
    if (event.is_dead) ++get().dead_uses;
    return event;
  }

  static cudaError_t get_device(int* device) {
    ++get().calls_of_job;
    *device = current_device;
    return cudaSuccess;
  }
  static cudaError_t set_device(int device) {
    current_device = device;
    return cudaSuccess;
  }
  static cudaError_t stream_is_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    ++get().calls_of_job;
    *status = get().stream(stream).is_capturing ? cudaStreamCaptureStatusActive
                                                : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  }
  static cudaError_t stream_device(cudaStream_t stream, int* device) {
    ++get().stream_devices;
    *device = get().stream(stream).device;
    return cudaSuccess;
  }
  static cudaError_t record(cudaEvent_t handle, cudaStream_t on) {
    std::lock_guard lock(get().mutex);
    ++get().calls_of_job;
    if (get().record_result != cudaSuccess) return said(get().record_result);
    Event& event = event_of(handle);
    Stream& stream = get().stream(on);
    if (stream.is_capturing) get().capture_was_ended = true;
    if (event.device != stream.device) return said(cudaErrorInvalidResourceHandle);
    event.at_ns = std::max(wall_ns(), stream.free_at_ns);
    return cudaSuccess;
  }
  static cudaError_t create_event(cudaEvent_t* handle, unsigned) {
    std::lock_guard lock(get().mutex);
    be_unsafe();
    if (get().events_left-- <= 0) return said(cudaErrorMemoryAllocation);
    get().events.push_back({0, current_device, false});
    *handle = reinterpret_cast<cudaEvent_t>(&get().events.back());
    return cudaSuccess;
  }
  static cudaError_t create_stream(cudaStream_t* stream, unsigned) {
    be_unsafe();
    *stream = get().add_stream(current_device);
    return cudaSuccess;
  }
  static cudaError_t query(cudaEvent_t handle) {
    std::lock_guard lock(get().mutex);
    be_unsafe();
    if (get().query_result != cudaSuccess) return said(get().query_result);
    return wall_ns() >= event_of(handle).at_ns ? cudaSuccess : said(cudaErrorNotReady);
  }
  static cudaError_t elapsed_ms(float* ms, cudaEvent_t from, cudaEvent_t to) {
    std::lock_guard lock(get().mutex);
    be_unsafe();
    const auto device_ns = [](std::int64_t at_ns) {
      const auto age_ns = static_cast<double>(at_ns - get().clock_zero_ns);
      // The manual's resolution of half a microsecond.
      return std::round(age_ns * (1 + get().drift) / 500) * 500;
    };
    *ms =
        static_cast<float>((device_ns(event_of(to).at_ns) - device_ns(event_of(from).at_ns)) / 1e6);
    return cudaSuccess;
  }
  static cudaError_t exchange_capture_mode(cudaStreamCaptureMode* mode) {
    std::swap(*mode, capture_mode);
    return cudaSuccess;
  }
};

}  // namespace traceagent::device
