#pragma once
// What the governor has left out, as a window's file tells it; the same from a dead process's ring.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

struct GovernorChange {
  std::uint64_t ticks;
  ring::BudgetKind kind;
  std::uint32_t level;
  ring::LeftOut left_out;         // from then on
  ring::LeftOut left_out_before;  // until then
  std::uint32_t measured_millionths;
};

// Those that the ring still knows, in order. Bounded and in range whatever a damaged ring holds.
std::vector<GovernorChange> governor_changes(const ring::Ring& ring);

// "launches, copies"
std::string names_of(ring::LeftOut left_out);
// What is seen at the change: "TraceAgent leaves out: launches (3.1% of the busiest thread, budget
// 1%)".
std::string name_of(const GovernorChange& change, std::uint32_t budget_millionths);

// "governor": {"budget_overhead_percent": 1, …, "left_out": ["launches"], "changes": [{"at_ns":
// …}]}, the changes being those within the window and the last one before it.
trace::JsonObject governor_object(const ring::Ring& ring, const event::TickConverter& clock,
                                  std::uint64_t begin_ticks, std::uint64_t end_ticks);

}  // namespace traceagent::drain
