#pragma once

#include <cstdint>

namespace traceagent::trace {

// The "pid" of a process in a trace: the rank; of the second process that claims the rank, and of
// those after it, one of their own.
inline constexpr std::int64_t pids_of_claim = 1'000'000;

constexpr std::int64_t trace_pid(std::int64_t rank, std::int64_t claim) {
  return rank + claim * pids_of_claim;
}
constexpr std::int64_t rank_of_pid(std::int64_t pid) { return pid % pids_of_claim; }

}  // namespace traceagent::trace
