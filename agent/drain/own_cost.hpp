#pragma once

namespace traceagent::drain {

// What recording one event takes here: two tick reads, a claim and a store, measured over some
// thousand rounds on this thread. Nanoseconds.
double measured_ns_per_event(double ns_per_tick) noexcept;

}  // namespace traceagent::drain
