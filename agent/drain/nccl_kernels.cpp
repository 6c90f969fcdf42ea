#include "agent/drain/nccl_kernels.hpp"

#include <algorithm>

#include "agent/api/function.hpp"
#include "agent/drain/collective_text.hpp"
#include "agent/ring/device_drops.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;
using ring::DropCause;

void NcclKernels::note(std::uint32_t slice, std::uint32_t launch, std::uint32_t name) {
  if (names_.name(name).starts_with("nccl")) kernels_.push_back({slice, launch, name, {}});
}

const NcclKernel* NcclKernels::of_slice(std::uint32_t slice) const noexcept {
  const auto found = std::lower_bound(
      kernels_.begin(), kernels_.end(), slice,
      [](const NcclKernel& kernel, std::uint32_t wanted) { return kernel.slice < wanted; });
  return found != kernels_.end() && found->slice == slice ? &*found : nullptr;
}

namespace {

// A launch, as the driver's door saw it, names the stream.
std::optional<std::uint64_t> stream_of(const Launch& launch) {
  const Record* host = launch.host_record;
  if (host == nullptr || host->layout != Layout::launch) return std::nullopt;
  return host->args[3];
}

// A kernel is one communicator's: of a group's calls those of the only one that used its stream.
void keep_one_communicator(std::vector<const Record*>& calls,
                           const std::optional<std::uint64_t>& stream) {
  const auto is_of = [&](std::uint32_t communicator) {
    return [communicator](const Record* call) { return call->extra == communicator; };
  };
  if (calls.empty() || std::all_of(calls.begin(), calls.end(), is_of(calls.front()->extra))) return;
  std::optional<std::uint32_t> only;
  for (const Record* call : calls) {
    if (stream && call->args[3] != *stream) continue;
    if (only && *only != call->extra) return calls.clear();
    only = call->extra;
  }
  if (!only) return calls.clear();
  std::erase_if(calls, [&](const Record* call) { return call->extra != *only; });
}

}  // namespace

// Of a group's end where NCCL did not tell: one kernel runs all of the group, of several each what
// its name allows.
std::vector<const Record*> NcclKernels::calls_of_group(const NcclKernel& kernel,
                                                       const ThreadEvents& thread,
                                                       const LaunchPlans& plans,
                                                       const Launch& launch) {
  const bool is_only_one = kernels_around_[launch.nccl_record] == 1;
  std::vector<const Record*> calls = calls_of_kernel(
      thread, launch.nccl, is_only_one ? std::string_view() : names_.name(kernel.name));
  // Those of the group's other kernels.
  std::erase_if(calls, [&](const Record* call) { return plans.are_told_of(call); });
  keep_one_communicator(calls, stream_of(launch));
  return calls;
}

// By the call around it on its thread; of a group's end by what NCCL told, which knows what of the
// group runs in this very kernel. False where neither can say anything.
bool NcclKernels::find_by_launch(NcclKernel& kernel, const std::vector<ThreadEvents>& threads,
                                 const LaunchPlans& plans, const Launch& launch) {
  const Record* around = launch.nccl_record;
  kernel.by_own_thread = around == nullptr;
  if (around != nullptr && around->layout == Layout::collective) {
    kernel.calls = {around};
    return true;
  }
  // Part of what it carries out must not pass for all.
  if (plans.is_part(kernel.launch)) return leave_out(part_missing_);
  const std::string_view name = names_.name(kernel.name);
  const auto* told = plans.calls_of(kernel.launch);
  if (told != nullptr && std::any_of(told->begin(), told->end(), [name](const Record* call) {
        return may_carry_out(name, *call);
      })) {
    kernel.calls = *told;
    return true;
  }
  if (around == nullptr) return false;
  const bool is_group = around->function == static_cast<std::uint16_t>(api::Function::ncclGroupEnd);
  const bool is_here = launch.nccl != no_index;
  if (!is_here || (is_group && !is_whole_group(threads[launch.thread], launch.nccl))) {
    return leave_out(part_missing_);
  }
  kernel.calls = calls_of_group(kernel, threads[launch.thread], plans, launch);
  if (kernel.calls.empty() && is_group) ++without_call_[cause_several_calls];
  return true;
}

void NcclKernels::find_by_order(const std::vector<NcclKernel*>& kernels,
                                const event::TickConverter& clock,
                                const std::vector<ThreadEvents>& threads,
                                const std::vector<Launch>& launches) {
  std::vector<AsyncCalls::Kernel> asked;
  for (const NcclKernel* kernel : kernels) {
    const Launch& launch = launches[kernel->launch];
    asked.push_back({launch.start_ns, stream_of(launch), names_.name(kernel->name)});
  }
  const std::vector<AsyncCalls::Answer> answers = AsyncCalls(threads, clock).find(asked);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels[i]->calls = answers[i].calls;
    if (!answers[i].calls.empty()) continue;
    ++without_call_[answers[i].is_ambiguous ? cause_several_calls : cause_no_call];
  }
}

void NcclKernels::find_calls(const ring::Window& window, const event::TickConverter& clock,
                             const std::vector<ThreadEvents>& threads, const CollectivePlans& plans,
                             const std::vector<Launch>& launches) {
  if (kernels_.empty()) return;
  const auto dropped = ring::dropped_in(ring_, window);
  const auto lost = [&](DropCause cause) { return dropped[static_cast<std::size_t>(cause)] != 0; };
  // Part of what a kernel carries out must not pass for all.
  const bool plans_are_whole = !lost(DropCause::plan_ring_full) && !lost(DropCause::overwritten);
  const CollectivePlans none;
  const LaunchPlans launch_plans(ring_, clock, threads, plans_are_whole ? plans : none, launches);
  for (const NcclKernel& kernel : kernels_) ++kernels_around_[launches[kernel.launch].nccl_record];
  // Where two windows touch, a loss of one may be counted for the other.
  const bool all_are_here =
      plans_are_whole && !lost(DropCause::ring_full) && !ring::has_lost_device_records(ring_);
  // What was lost of the device's takes no call away.
  part_missing_ =
      plans_are_whole && !lost(DropCause::ring_full) ? cause_group_before_window : cause_call_lost;
  std::vector<NcclKernel*> left;
  for (NcclKernel& kernel : kernels_) {
    const Launch& launch = launches[kernel.launch];
    if (launch.when != When::in_window) continue;
    if (launches_graph(ring_, launch)) {
      ++without_call_[cause_in_graph];
    } else if (!find_by_launch(kernel, threads, launch_plans, launch)) {
      left.push_back(&kernel);
    }
  }
  if (!all_are_here && !left.empty()) {
    without_call_[cause_call_lost] += left.size();
    return;
  }
  std::stable_sort(left.begin(), left.end(), [&](const NcclKernel* a, const NcclKernel* b) {
    return launches[a->launch].start_ns < launches[b->launch].start_ns;
  });
  find_by_order(left, clock, threads, launches);
}

}  // namespace traceagent::drain
