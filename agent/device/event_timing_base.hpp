#pragma once
// The wall-clock time of CUDA events on one device. Events only know the time between two of them:
// a base event, whose wall-clock time is known within bounds, gives the others theirs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/device/event_timing_api.hpp"

namespace traceagent::device {

struct EventTimes {
  std::int64_t start_ns;  // CLOCK_REALTIME
  std::int64_t end_ns;
  std::int64_t error_ns;  // the start may be off by this much; the duration by elapsed_error_ns
};

// "A resolution of approximately one half microsecond" (CUDA's manual on cudaEventElapsedTime).
inline constexpr std::int64_t elapsed_error_ns = 500;

class EventBase {
 public:
  explicit EventBase(const EventApi& api) noexcept : api_(api) {}

  // The device must be current. False where CUDA refuses.
  bool prepare() noexcept;
  // Takes a new base when the last one is a second old. False where CUDA refuses; a device too busy
  // to answer at once is asked again the next time.
  bool renew(std::int64_t now_ns) noexcept;
  bool is_known() const noexcept { return count_ != 0; }

  // Both events have happened, the start was recorded at `recorded_ns`. Nothing where CUDA refuses.
  std::optional<EventTimes> times_of(cudaEvent_t start, cudaEvent_t end,
                                     std::int64_t recorded_ns) const noexcept;

 private:
  struct Base {
    cudaEvent_t event;
    std::int64_t wall_ns;
    std::int64_t error_ns;
  };
  enum class Take { taken, busy, refused };

  Take measure(cudaEvent_t event, Base& base) noexcept;
  const Base& nearest(std::int64_t recorded_ns) const noexcept;

  const EventApi& api_;
  cudaStream_t stream_ = nullptr;  // ours alone: nothing of the job's waits for it or delays it
  std::array<Base, 8> bases_{};    // a ring: the last of them
  std::size_t count_ = 0;
  std::int64_t next_ns_ = 0;
};

}  // namespace traceagent::device
