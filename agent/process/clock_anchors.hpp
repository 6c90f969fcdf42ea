#pragma once

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::process {

// Pairs of ticks and time that the ring keeps, taken as time passes.
class ClockAnchors {
 public:
  void take(const ring::Ring& ring, std::uint64_t now_ns) noexcept;

 private:
  std::uint64_t next_ns_ = 0;
  std::uint64_t period_ns_ = 5'000'000;
  bool has_said_ = false;
};

}  // namespace traceagent::process
