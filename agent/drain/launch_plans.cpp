#include "agent/drain/launch_plans.hpp"

#include <algorithm>
#include <string_view>

namespace traceagent::drain {

using event::Record;

namespace {

std::int64_t begin_ns(const Record& record, const event::TickConverter& clock) {
  return clock.realtime_ns(record.begin_ticks.load(std::memory_order_relaxed));
}

std::int64_t middle_ns(const Launch& launch) noexcept {
  return launch.start_ns + (launch.end_ns - launch.start_ns) / 2;
}

bool launches_kernels(std::string_view function) noexcept {
  return function.find("Launch") != std::string_view::npos;
}

}  // namespace

LaunchPlans::LaunchPlans(const ring::Ring& ring, const event::TickConverter& clock,
                         const std::vector<ThreadEvents>& threads, const CollectivePlans& plans,
                         const std::vector<Launch>& launches) {
  const std::vector<JoinedPlan>& told = plans.of_kernels();
  std::unordered_map<std::uint32_t, LaunchesOfThread> launches_of;
  for (const JoinedPlan& each : told) launches_of[each.told.thread_id];
  if (launches_of.empty()) return;
  for (std::uint32_t i = 0; i < launches.size(); ++i) {
    if (launches[i].outer != no_index) continue;
    const auto thread = launches_of.find(threads[launches[i].thread].thread_id);
    if (thread == launches_of.end()) continue;
    if (launches_kernels(ring.name(event::api_call_of(*launches[i].api).name))) {
      thread->second.push_back(i);
    }
  }
  for (std::size_t i = 0; i < told.size();) {
    const std::uint32_t thread_id = told[i].told.thread_id;
    std::size_t end = i;
    while (end < told.size() && told[end].told.thread_id == thread_id) ++end;
    match_thread(clock, plans, &told[i], told.data() + end, launches_of[thread_id], launches);
    i = end;
  }
}

void LaunchPlans::match_thread(const event::TickConverter& clock, const CollectivePlans& plans,
                               const JoinedPlan* begin, const JoinedPlan* end,
                               const LaunchesOfThread& of_thread,
                               const std::vector<Launch>& launches) {
  std::size_t next = 0;  // the first launch behind the plan
  for (const JoinedPlan* each = begin; each != end; ++each) {
    const Record& plan = *each->told.record;
    const std::int64_t told_ns = begin_ns(plan, clock);
    while (next < of_thread.size() && middle_ns(launches[of_thread[next]]) <= told_ns) ++next;
    if (next == 0) continue;
    const std::uint32_t launch = of_thread[next - 1];
    if (each->call == nullptr) {
      parts_.insert(launch);
      continue;
    }
    // Asked for after that launch: the record of its own was lost. A call that no wrapper saw has
    // the plan's own time.
    const auto* joined = plans.of(*each->call);
    const bool is_made = joined != nullptr && joined->no_wrapper_saw;
    if (!is_made && begin_ns(*each->call, clock) > launches[launch].end_ns) continue;
    // A kernel is one communicator's: what is told of another is of a launch that was lost.
    const std::uint32_t communicator = event::collective_plan_of(plan).communicator;
    if (communicators_.try_emplace(launch, communicator).first->second != communicator) continue;
    told_of_.insert(each->call);
    Calls& calls = calls_[launch];
    // An all-to-all is many sends and receives.
    if (std::find(calls.begin(), calls.end(), each->call) == calls.end()) {
      calls.push_back(each->call);
    }
  }
}

const LaunchPlans::Calls* LaunchPlans::calls_of(std::uint32_t launch) const {
  const auto found = calls_.find(launch);
  return found != calls_.end() ? &found->second : nullptr;
}

}  // namespace traceagent::drain
