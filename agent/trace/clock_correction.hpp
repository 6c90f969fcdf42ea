#pragma once

#include <cstdint>

namespace traceagent::trace {

// Takes the times of one clock to another's by a line: offset_ns at reference_ns, and from there
// drift nanoseconds for each nanosecond. Durations stay as they are: at the largest drift that is
// ever allowed (1,000 ppm) those of a second would change by a millisecond at most, and real
// clocks' by some microseconds.
struct ClockCorrection {
  std::int64_t reference_ns = 0;  // on the clock that is corrected
  std::int64_t offset_ns = 0;
  double drift = 0.0;

  [[nodiscard]] bool is_none() const { return offset_ns == 0 && drift == 0.0; }

  // Keeps the order of times. Wraps rather than overflows: a damaged base must not be undefined
  // behaviour.
  [[nodiscard]] std::int64_t corrected(std::int64_t ns) const {
    if (is_none()) {
      return ns;
    }
    const auto since = static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) -
                                                 static_cast<std::uint64_t>(reference_ns));
    // Rounds by hand: llround would need libm, which the agent's library does without.
    const double drifted = drift * static_cast<double>(since);
    const auto drifted_ns = static_cast<std::int64_t>(drifted + (drifted < 0 ? -0.5 : 0.5));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) +
                                     static_cast<std::uint64_t>(offset_ns) +
                                     static_cast<std::uint64_t>(drifted_ns));
  }
};

}  // namespace traceagent::trace
