#pragma once

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::ring {

// Of what CUPTI told a record found no chunk. It is counted for the window that it is of by its own
// time, whenever it was told; where that has its file already, for the next file. What is of no
// window nobody misses.
// Work that ended then: after a window it may still be of it, unless by its id it was launched
// after.
void count_full_of_work(const Ring& ring, std::int64_t end_ns, std::uint32_t correlation) noexcept;
// A call that began then.
void count_full_of_call(const Ring& ring, std::int64_t start_ns,
                        std::uint32_t correlation) noexcept;

// Of whichever windows: launches and work may lack their other half for that alone.
bool has_lost_device_records(const Ring& ring) noexcept;
// Not work alone.
bool has_lost_device_calls(const Ring& ring) noexcept;

}  // namespace traceagent::ring
