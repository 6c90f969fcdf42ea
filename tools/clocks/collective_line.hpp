#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/clocks/clock_pair.hpp"

namespace traceagent::tools {

// What a line of a trace says of a collective on its rank, where it can tell something of clocks.
// The times are relative to the line's ts.
struct CollectiveLine {
  CollectiveKey key;
  bool tells_start = false;  // what others wait for
  bool tells_end = false;    // what comes after others' start
  std::int64_t duration_ns = 0;
  std::int64_t error_ns = 0;  // of the times
};

// Only kernels that carry out one numbered collective of several ranks: the *call* of a collective
// returns before it has been carried out, and where kernels were replayed (graphs) the number is
// that of the capture. All ranks of an all-reduce, all-gather, reduce-scatter, all-to-all or
// barrier depend on all others; of a broadcast or scatter only on the root's start, of a reduce or
// gather only the root's end on the others; a receive's end on the start of the send that it meets.
// Of several sends and receives in one kernel, and of PyTorch's, nothing says which meets which.
std::optional<CollectiveLine> collective_line(std::string_view line);

}  // namespace traceagent::tools
