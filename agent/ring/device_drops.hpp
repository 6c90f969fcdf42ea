#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::ring {

// Of what CUPTI told in one buffer, the records that found no chunk. Each is counted for the window
// that it is of by its own time, whenever it was told; where that has its file already, for the
// next file. What is of no window nobody misses. The windows' times are learnt with the first one:
// what the buffer holds had happened by then.
class DeviceDrops {
 public:
  explicit DeviceDrops(const Ring& ring) noexcept : ring_(ring) {}

  // Work that ended then: after a window it may still be of it, unless by its id it was launched
  // after.
  void count_work(std::int64_t end_ns, std::uint32_t correlation) noexcept;
  // A call that began then.
  void count_call(std::int64_t start_ns, std::uint32_t correlation) noexcept;

 private:
  struct Span {
    Window* window;
    std::uint64_t begin_ticks;
    std::int64_t begin_ns;
    std::int64_t end_ns;  // INT64_MAX: it is open
  };

  void learn() noexcept;
  const Span* span_at(std::int64_t at_ns) noexcept;
  void count_without_clock() noexcept;

  const Ring& ring_;
  bool is_learnt_ = false;
  // Outside these no record can be, unless the clock was set.
  std::int64_t earliest_ns_ = INT64_MIN, latest_ns_ = INT64_MAX;
  std::size_t span_count_ = 0;
  std::array<Span, window_slots> spans_;  // the first span_count_
};

// Of whichever windows: launches and work may lack their other half for that alone.
bool has_lost_device_records(const Ring& ring) noexcept;
// Not work alone.
bool has_lost_device_calls(const Ring& ring) noexcept;

}  // namespace traceagent::ring
