#pragma once
// What NCCL told of a kernel, found by the kernel's launch.

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/drain/collective_plans.hpp"
#include "agent/drain/launch_match.hpp"

namespace traceagent::drain {

// NCCL tells of a kernel's plans right after it has launched it, on the same thread. (Where it lets
// a CUDA stream tell them, in graph captures for one, they are of no launch here.)
class LaunchPlans {
 public:
  using Calls = std::vector<const event::Record*>;  // Layout::collective

  LaunchPlans(const ring::Ring& ring, const event::TickConverter& clock,
              const std::vector<ThreadEvents>& threads, const CollectivePlans& plans,
              const std::vector<Launch>& launches);

  // The calls that the kernel of a launch carries out, each once; null: NCCL told of none.
  const Calls* calls_of(std::uint32_t launch) const;
  // NCCL told of calls too that are not in the window.
  bool is_part(std::uint32_t launch) const { return parts_.contains(launch); }
  // Whether it is known of a call which kernel carries it out.
  bool are_told_of(const event::Record* call) const { return told_of_.contains(call); }

 private:
  // Of one thread, by start.
  using LaunchesOfThread = std::vector<std::uint32_t>;
  void match_thread(const event::TickConverter& clock, const CollectivePlans& plans,
                    const JoinedPlan* begin, const JoinedPlan* end,
                    const LaunchesOfThread& of_thread, const std::vector<Launch>& launches);

  std::unordered_map<std::uint32_t, Calls> calls_;
  std::unordered_set<const event::Record*> told_of_;
  std::unordered_set<std::uint32_t> parts_;
  std::unordered_map<std::uint32_t, std::uint32_t> communicators_;  // of a launch's plans
};

}  // namespace traceagent::drain
