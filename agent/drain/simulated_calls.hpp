#pragma once

#include <unordered_set>
#include <vector>

#include "agent/drain/window_events.hpp"

namespace traceagent::drain {

// The collectives of groups that ended with ncclGroupSimulateEnd: NCCL estimated how long they
// would take and dropped them. Memory: for each of those.
class SimulatedCalls {
 public:
  explicit SimulatedCalls(const std::vector<ThreadEvents>& threads);
  bool has(const event::Record& call) const { return !calls_.empty() && calls_.contains(&call); }

 private:
  std::unordered_set<const event::Record*> calls_;
};

}  // namespace traceagent::drain
