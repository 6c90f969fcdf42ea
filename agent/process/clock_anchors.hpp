#pragma once

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::process {

// Pairs of ticks and time that the ring keeps, taken as time passes.
class ClockAnchors {
 public:
  // Where the next one is due.
  void take(const ring::Ring& ring, std::uint64_t now_ns) noexcept;

  // How long until the next one that is worth waking up for: those of the first second, by which a
  // process that is killed within it has a rate. UINT64_MAX: none is.
  std::uint64_t next_in_ns(std::uint64_t now_ns) const noexcept;

 private:
  std::uint64_t next_ns_ = 0;
  std::uint64_t period_ns_ = 1'000'000;
  bool has_said_ = false;
};

}  // namespace traceagent::process
