#pragma once
// Joins what NCCL's profiler interface told to the wrappers' records of the same calls: one event
// for each collective, however many doors saw it.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/drain/coverage.hpp"
#include "agent/drain/plan_matcher.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"
#include "agent/event/plan_record.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

// Lanes that are no thread's: the channels of NCCL's kernels, and its proxies.
inline constexpr std::uint32_t first_plan_lane = 7'000'000;

class CollectivePlans {
 public:
  // How a call was carried out. An all-to-all is many sends and receives.
  struct Joined {
    const event::Record* first = nullptr;  // event::CollectivePlan
    std::uint64_t operations = 0;
    std::uint8_t channels = 0;  // of the widest
    bool no_wrapper_saw = false;
  };

  CollectivePlans() = default;
  // Adds to `threads`, in order, what is an event of its own: a call that no wrapper saw (NCCL
  // linked into the program), as Layout::collective on the thread that launched it; kernel channels
  // and proxies as Layout::collective_plan on lanes of their own. Both may lie outside of the ring
  // and live as long as this object.
  CollectivePlans(const ring::Ring& ring, const event::TickConverter& clock,
                  std::uint64_t begin_ticks, std::uint64_t end_ticks,
                  std::vector<ThreadEvents>& threads);
  CollectivePlans(CollectivePlans&&) = default;

  // nullptr where NCCL told nothing of this call.
  const Joined* of(const event::Record& call) const;
  // The plans of kernels, by thread and begin.
  const std::vector<JoinedPlan>& of_kernels() const noexcept { return of_kernels_; }
  // The record of the ring that an event stands for: itself, but for a call that no wrapper saw.
  const event::Record& in_ring(const event::Record& record) const;

  // Corrects what count_calls() made of the events: those that we added came through no wrapper.
  void correct(DoorCalls& calls) const noexcept;
  // "nccl_plans": {"seen": 812, …}; nothing where NCCL told nothing.
  void describe(trace::JsonObject& metadata) const;

 private:
  using ByThread = std::map<std::uint32_t, std::vector<const event::Record*>>;

  void keep(const event::Record& call, const ToldPlan& told);
  std::vector<ToldPlan> join_named(const std::vector<ToldPlan>& plans, PlanMatcher& matcher,
                                   std::uint64_t end_ticks);
  ByThread join_nameless(const std::vector<ToldPlan>& plans, PlanMatcher& matcher,
                         std::uint64_t end_ticks);
  const event::Record* as_call(const ToldPlan& told);
  const event::Record* at_gpu_time(const event::Record& part, const event::TickConverter& clock);
  void add_lanes(const event::TickConverter& clock, const std::vector<const event::Record*>& parts,
                 std::vector<ThreadEvents>& threads);

  std::unordered_map<const event::Record*, Joined> joined_;
  std::vector<JoinedPlan> of_kernels_;
  std::deque<event::Record> made_;
  std::uint64_t seen_ = 0, unseen_calls_ = 0, shown_calls_ = 0, of_other_windows_ = 0, parts_ = 0;
};

}  // namespace traceagent::drain
