#pragma once
// ring.full: overwrite takes the oldest chunk over, but never from under who writes a file.

#include <cstdint>

#include "agent/ring/ring.hpp"

namespace traceagent::ring {

// A free chunk, or where `target.overwrite` allows it the oldest.
Chunk* claim_or_overwrite(const Ring& ring, std::uint32_t thread_id,
                          const ThreadName& thread_name) noexcept;

// While it lives no chunk is overwritten: what finds no free one is dropped, and counted.
class OverwritingPaused {
 public:
  OverwritingPaused() noexcept;
  ~OverwritingPaused();
  OverwritingPaused(const OverwritingPaused&) = delete;
  OverwritingPaused& operator=(const OverwritingPaused&) = delete;

 private:
  const bool was_on_;
};

// In a forked child: those that were at it are threads of its parent.
void forget_overwriting() noexcept;

}  // namespace traceagent::ring
