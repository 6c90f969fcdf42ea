#pragma once
// What a rank has done, in a file that the harness maps too: it survives the rank's SIGKILL.
// counts.py reads it by these offsets.

#include <array>
#include <atomic>
#include <cstdint>

namespace traceagent::soak {

inline constexpr std::size_t rank_threads = 2;
inline constexpr std::size_t most_steps = 1 << 18;  // 3.6 hours of the long form

using Counts = std::array<std::atomic<std::uint64_t>, rank_threads>;

struct SharedPage {
  std::atomic<std::uint64_t> stop;  // set by the harness: end in good order
  std::atomic<std::uint64_t> steps_begun;
  std::atomic<std::uint64_t> steps_marked;  // the call that marks the step has returned
  // Per thread: events begun, and those whose call has returned. A kill lies between the two.
  Counts begun;
  Counts done;
  // Events of each thread before the step.
  std::array<Counts, most_steps> before_step;
};
static_assert(offsetof(SharedPage, begun) == 24 && offsetof(SharedPage, before_step) == 56);

}  // namespace traceagent::soak
