#pragma once

namespace traceagent::drain {

// What recording one event takes here: two tick reads, a claim and a store, measured over some
// thousand rounds on this thread. Nanoseconds. Once is enough: measured 3,000 times, 20 ms apart,
// on two cores at a load of seven (2026-11-21), it was 18.1 to 19.6 ns, the first of each process
// within 2 % of the median.
double measured_ns_per_event(double ns_per_tick) noexcept;

}  // namespace traceagent::drain
