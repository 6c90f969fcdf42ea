#include "agent/device/event_timing.hpp"

#include <cerrno>
#include <ctime>

#include "agent/event/no_cancellation.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::device {

constinit std::atomic<const EventApi*> event_api{nullptr};
constinit std::atomic<bool> launches_are_timed{false};
constinit std::array<std::atomic<std::uint64_t>, untimed_cause_count> untimed{};
constinit std::atomic<std::uint32_t> device_resets{0};
constinit std::atomic<bool> drain_uses_events{false};

namespace {

// Our calls into CUDA from a thread of the job: no event of the job, through whatever door, and
// without a trace in errno or in the thread's last error. Only a thread without an error pending
// may make them: CUDA has no way of putting an error back.
class QuietCalls {
 public:
  explicit QuietCalls(const EventApi& api) noexcept
      : api_(api), saved_errno_(errno), is_clean_(api.peek_error() == cudaSuccess) {
    ++ring::writer.nested_in_start;
  }
  ~QuietCalls() {
    if (has_failed_) api_.take_error();
    --ring::writer.nested_in_start;
    errno = saved_errno_;
  }
  QuietCalls(const QuietCalls&) = delete;
  QuietCalls& operator=(const QuietCalls&) = delete;

  bool is_clean() const noexcept { return is_clean_; }
  bool ok(cudaError_t result) noexcept {
    has_failed_ |= result != cudaSuccess;
    return result == cudaSuccess;
  }

 private:
  const EventApi& api_;
  const int saved_errno_;
  const bool is_clean_;
  bool has_failed_ = false;
};

int current_device(const EventApi& api, QuietCalls& calls) noexcept {
  int device = -1;
  return calls.ok(api.get_device(&device)) ? device : -1;
}

int device_of(const EventApi& api, QuietCalls& calls, cudaStream_t stream) noexcept {
  int device = -1;
  const bool is_told = api.stream_device != nullptr && !is_default_stream(stream) &&
                       calls.ok(api.stream_device(stream, &device));
  return is_told ? device : current_device(api, calls);
}

// A default stream is the current device's: an event of ours would lie there, the work elsewhere.
bool is_elsewhere(const EventApi& api, QuietCalls& calls, cudaStream_t stream,
                  int device) noexcept {
  return device >= 0 && is_default_stream(stream) && device != current_device(api, calls);
}

// True also where CUDA will not say: a blocking stream is being captured, and the legacy default
// stream must be left alone meanwhile.
bool is_captured(const EventApi& api, QuietCalls& calls, cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return !calls.ok(api.stream_is_capturing(stream, &status)) ||
         status != cudaStreamCaptureStatusNone;
}

}  // namespace

int device_of_stream(cudaStream_t stream) noexcept {
  const EventApi* api = event_api.load(std::memory_order_acquire);
  if (api == nullptr) return -1;
  QuietCalls calls(*api);
  return calls.is_clean() ? device_of(*api, calls, stream) : -1;
}

void OperationTimer::begin(const event::Record& record, cudaStream_t stream, int device) noexcept {
  const EventApi* api = event_api.load(std::memory_order_acquire);
  if (api == nullptr) return;
  QuietCalls calls(*api);
  if (!calls.is_clean()) return count_untimed(Untimed::pending_error);
  if (is_elsewhere(*api, calls, stream, device)) return count_untimed(Untimed::other_device);
  if (is_captured(*api, calls, stream)) return count_untimed(Untimed::in_capture);
  if (device < 0) device = device_of(*api, calls, stream);
  EventSlot* slot = device >= 0 ? slot_of_thread(device) : nullptr;
  if (slot == nullptr) return count_untimed(Untimed::no_events);
  if (!slot->take(operation_.pair)) {
    slot->wanting.fetch_add(1, std::memory_order_relaxed);
    return count_untimed(Untimed::no_events);
  }
  api_ = api;
  slot_ = slot;
  operation_.host_record = ring::correlation_of(ring::target.ring, record);
  operation_.stream = reinterpret_cast<std::uintptr_t>(stream);
  operation_.begin_ticks = record.begin_ticks.load(std::memory_order_relaxed);
  operation_.recorded_ns = static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
  if (!calls.ok(api->record(operation_.pair.start, stream))) give_up(Untimed::refused);
}

void OperationTimer::end_begun(bool launched) noexcept {
  if (!launched) return give_up(Untimed::not_launched);
  if (slot_->is_dead(operation_.pair)) return give_up(Untimed::lost_device);
  QuietCalls calls(*api_);
  if (!calls.is_clean()) return give_up(Untimed::pending_error);
  const auto stream = reinterpret_cast<cudaStream_t>(operation_.stream);
  if (!calls.ok(api_->record(operation_.pair.end, stream))) return give_up(Untimed::refused);
  operation_.is_void = false;
  // As many places as pairs: there is one.
  slot_->begun.push(operation_);
  slot_ = nullptr;
}

void OperationTimer::give_up(Untimed cause) noexcept {
  count_untimed(cause);
  operation_.is_void = true;
  slot_->begun.push(operation_);
  slot_ = nullptr;
}

void before_device_reset() noexcept {
  if (wanted_devices.load(std::memory_order_relaxed) == 0) return;
  for (auto& place : event_slots) {
    EventSlot* slot = place.load(std::memory_order_acquire);
    if (slot != nullptr) slot->is_lost.store(true, std::memory_order_relaxed);
  }
  // Sequentially consistent on both sides: the drain raises its flag, then looks at the count.
  device_resets.fetch_add(1, std::memory_order_seq_cst);
  const int saved_errno = errno;
  const event::NoCancellation no_cancellation;
  for (int i = 0; i < 100 && drain_uses_events.load(std::memory_order_seq_cst); ++i) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  errno = saved_errno;
}

void forget_event_timing() noexcept {
  event_api.store(nullptr, std::memory_order_relaxed);
  launches_are_timed.store(false, std::memory_order_relaxed);
  drain_uses_events.store(false, std::memory_order_relaxed);
  for (auto& count : untimed) count.store(0, std::memory_order_relaxed);
  forget_event_slots();
}

}  // namespace traceagent::device
