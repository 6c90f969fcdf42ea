#pragma once
// What a ring holds of the device side, in the order in which it lies there.

#include <cstdint>
#include <vector>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// A call that was begun before a window and had not ended when the window began.
struct Straddler {
  std::uint32_t thread_id;
  const event::Record* record;
};

struct DeviceRecords {
  std::vector<const event::Record*> work;       // Layout::device_work
  std::vector<const event::Record*> api_calls;  // Layout::api_call
  std::vector<const event::Record*> timed;      // Layout::timed_by_event
  std::vector<Straddler> straddlers;

  bool empty() const noexcept { return work.empty() && api_calls.empty() && timed.empty(); }
};

// All of the ring: which window a record belongs to depends on its launch. Pointers into the ring,
// valid until its chunks are freed; 8 bytes for each record.
DeviceRecords collect_device(const ring::Ring& ring, std::uint64_t begin_ticks);

}  // namespace traceagent::drain
