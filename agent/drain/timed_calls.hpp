#pragma once
// The calls of a window by their places in the ring, for times that CUDA events gave.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "agent/drain/window_events.hpp"

namespace traceagent::drain {

class TimedCalls {
 public:
  struct Place {
    std::uint32_t thread;
    std::uint32_t index;  // in the thread's records
  };
  TimedCalls(const ring::Ring& ring, const std::vector<ThreadEvents>& threads);

  // By ring::correlation_of(); nothing where the window has no such call.
  std::optional<Place> find(std::uint64_t place) const;

 private:
  const std::vector<ThreadEvents>& threads_;
  const ring::Ring ring_;
  std::unordered_map<std::uint64_t, const ring::Chunk*> chunks_;  // by claim number
  std::unordered_map<std::uint32_t, std::uint32_t> thread_of_;
};

}  // namespace traceagent::drain
