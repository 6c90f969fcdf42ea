#include "agent/drain/collective_plans.hpp"

#include <algorithm>
#include <tuple>

namespace traceagent::drain {

using event::Layout;
using event::PlanKind;
using event::Record;

namespace {

std::uint64_t begin_of(const Record& record) noexcept {
  return record.begin_ticks.load(std::memory_order_relaxed);
}
bool begins_earlier(const Record* a, const Record* b) noexcept {
  return begin_of(*a) < begin_of(*b);
}

bool nccl_was_heard(const ring::Ring& ring) noexcept {
  const auto& all = ring.header().communicators;
  return std::any_of(all.begin(), all.end(), [](const ring::Communicator& each) {
    return each.hash.load(std::memory_order_acquire) != 0 && each.device == event::told_by_nccl;
  });
}

struct Told {
  std::vector<ToldPlan> plans;  // by begin, also of calls that the window's end cut off
  std::vector<const Record*> parts;
};

Told collect_told(const ring::Ring& ring, std::uint64_t begin_ticks, std::uint64_t end_ticks) {
  Told told;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const ring::Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    const std::uint32_t thread_id = chunk.thread_id.load(std::memory_order_relaxed);
    for (const Record& record : chunk.records) {
      const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
      if (begin == 0 || begin < begin_ticks || record.layout != Layout::collective_plan) continue;
      if (event::is_plan_of_collective(record)) {
        told.plans.push_back({&record, thread_id});
      } else if (begin < end_ticks) {
        told.parts.push_back(&record);
      }
    }
  }
  std::stable_sort(told.plans.begin(), told.plans.end(), [](const ToldPlan& a, const ToldPlan& b) {
    return begins_earlier(a.record, b.record);
  });
  return told;
}

void add_events(std::uint32_t thread_id, const std::string& name,
                const std::vector<const Record*>& records, std::vector<ThreadEvents>& threads) {
  auto thread = std::find_if(threads.begin(), threads.end(),
                             [&](const ThreadEvents& each) { return each.thread_id == thread_id; });
  if (thread == threads.end()) thread = threads.insert(threads.end(), {thread_id, name, {}});
  auto& all = thread->records;
  all.insert(all.end(), records.begin(), records.end());
  std::stable_sort(all.begin(), all.end(), begins_earlier);
}

}  // namespace

CollectivePlans::CollectivePlans(const ring::Ring& ring, const event::TickConverter& clock,
                                 std::uint64_t begin_ticks, std::uint64_t end_ticks,
                                 std::vector<ThreadEvents>& threads) {
  if (!nccl_was_heard(ring)) return;
  const Told told = collect_told(ring, begin_ticks, end_ticks);
  PlanMatcher matcher(ring, threads);
  // Those first that name their call: they tell whose communicator is whose.
  const std::vector<ToldPlan> nameless = join_named(told.plans, matcher, end_ticks);
  for (const auto& [thread_id, records] : join_nameless(nameless, matcher, end_ticks)) {
    add_events(thread_id, "NCCL", records, threads);
  }
  std::sort(of_kernels_.begin(), of_kernels_.end(), [](const JoinedPlan& a, const JoinedPlan& b) {
    return a.told.thread_id != b.told.thread_id ? a.told.thread_id < b.told.thread_id
                                                : begins_earlier(a.told.record, b.told.record);
  });
  add_lanes(clock, told.parts, threads);
}

void CollectivePlans::keep(const Record& call, const ToldPlan& told) {
  const Record& plan = *told.record;
  // What copy engines do has no kernel.
  if (event::plan_kind_of(plan) == PlanKind::collective) of_kernels_.push_back({told, &call});
  Joined& joined = joined_[&call];
  if (joined.first == nullptr) joined.first = &plan;
  ++joined.operations;
  joined.channels = std::max(joined.channels, event::collective_plan_of(plan).channels);
  ++seen_;
}

std::vector<ToldPlan> CollectivePlans::join_named(const std::vector<ToldPlan>& plans,
                                                  PlanMatcher& matcher, std::uint64_t end_ticks) {
  std::vector<ToldPlan> nameless;
  for (const ToldPlan& told : plans) {
    const std::uint64_t number = event::collective_plan_of(*told.record).call;
    if (number == 0) {
      nameless.push_back(told);
    } else if (const Record* call = matcher.named(number)) {
      keep(*call, told);
      matcher.match(*call, *told.record);
    } else if (begin_of(*told.record) < end_ticks) {
      ++of_other_windows_;
      if (event::plan_kind_of(*told.record) == PlanKind::collective) {
        of_kernels_.push_back({told, nullptr});
      }
    }
  }
  return nameless;
}

CollectivePlans::ByThread CollectivePlans::join_nameless(const std::vector<ToldPlan>& plans,
                                                         PlanMatcher& matcher,
                                                         std::uint64_t end_ticks) {
  ByThread events;
  for (const ToldPlan& told : plans) {
    if (const Record* call = matcher.find(told)) {
      keep(*call, told);
      matcher.match(*call, *told.record);
    } else if (begin_of(*told.record) < end_ticks) {
      ++unseen_calls_;
      if (const Record* made = as_call(told)) events[told.thread_id].push_back(made);
    }
  }
  return events;
}

// Like a wrapper's record. Its stream and its reduction are not told.
const Record* CollectivePlans::as_call(const ToldPlan& told) {
  const Record& plan_record = *told.record;
  const auto kind = collective_of(static_cast<api::Function>(plan_record.function));
  if (!kind) return nullptr;
  const event::CollectivePlan plan = event::collective_plan_of(plan_record);
  Record& made = made_.emplace_back();
  made.begin_ticks = begin_of(plan_record);
  made.end_ticks = plan_record.end_ticks.load(std::memory_order_acquire);
  made.function = plan_record.function;
  made.layout = Layout::collective;
  made.flags = 0;
  made.result = 0;
  made.detail = static_cast<std::uint32_t>(*kind);
  made.extra = plan.communicator;
  made.args[0] = plan.count;
  made.args[1] = plan.sequence;
  made.args[2] = plan.datatype | std::uint64_t{0xff} << 8 |
                 std::uint64_t{static_cast<std::uint32_t>(plan.peer)} << 32;
  made.args[3] = 0;
  keep(made, told);
  joined_[&made].no_wrapper_saw = true;
  ++shown_calls_;
  return &made;
}

// NCCL sees a channel's start and end late, when its proxy looks; the GPU's clock says when they
// were. It is the time of day on the machines that we know; where it is not, our own stands.
const Record* CollectivePlans::at_gpu_time(const Record& part_record,
                                           const event::TickConverter& clock) {
  constexpr std::int64_t far_off_ns = 1'000'000'000;
  const event::PlanPart part = event::plan_part_of(part_record);
  const std::int64_t seen_ns = clock.realtime_ns(begin_of(part_record));
  const auto early_ns = seen_ns - static_cast<std::int64_t>(part.gpu_begin_ns);
  const auto length_ns = static_cast<std::int64_t>(part.gpu_end_ns - part.gpu_begin_ns);
  if (part.gpu_begin_ns == 0 || early_ns > far_off_ns || early_ns < -far_off_ns)
    return &part_record;
  if (part.gpu_end_ns < part.gpu_begin_ns || length_ns > 60 * far_off_ns) return &part_record;
  // The converter's own rate, there and then.
  constexpr std::int64_t some_ticks = 1 << 20;
  const auto some_ns =
      static_cast<double>(clock.realtime_ns(begin_of(part_record) + some_ticks) - seen_ns);
  const auto ticks = [&](std::int64_t ns) {
    return static_cast<std::int64_t>(static_cast<double>(ns) * some_ticks / some_ns);
  };
  Record& made = made_.emplace_back();
  const auto begin = static_cast<std::int64_t>(begin_of(part_record)) - ticks(early_ns);
  made.begin_ticks = static_cast<std::uint64_t>(begin);
  made.end_ticks = static_cast<std::uint64_t>(begin + ticks(length_ns));
  event::fill(made, PlanKind::kernel_channel, part);
  return &made;
}

void CollectivePlans::add_lanes(const event::TickConverter& clock,
                                const std::vector<const Record*>& parts,
                                std::vector<ThreadEvents>& threads) {
  // Kind, communicator, channel, direction: in this order they stand in the trace.
  using Key = std::tuple<bool, std::uint32_t, std::uint32_t, bool>;
  std::map<Key, std::vector<const Record*>> lanes;
  for (const Record* record : parts) {
    const event::PlanPart part = event::plan_part_of(*record);
    const bool on_gpu = event::plan_kind_of(*record) == PlanKind::kernel_channel;
    const Record* placed = on_gpu ? at_gpu_time(*record, clock) : record;
    // A step's number is no channel: the steps of one direction share a lane, and nest where they
    // can.
    const std::uint32_t channel = on_gpu ? part.channel : 0;
    lanes[{!on_gpu, part.communicator, channel, part.is_send}].push_back(placed);
    ++parts_;
  }
  std::uint32_t lane = first_plan_lane;
  for (auto& [key, records] : lanes) {
    const auto& [is_proxy, communicator, channel, is_send] = key;
    const std::string comm = " of communicator " + std::to_string(communicator);
    const std::string name = is_proxy
                                 ? std::string("NCCL proxy, ") + (is_send ? "sends" : "receives")
                                 : "NCCL channel " + std::to_string(channel);
    add_events(lane++, name + comm, records, threads);
  }
}

const CollectivePlans::Joined* CollectivePlans::of(const Record& call) const {
  const auto found = joined_.find(&call);
  return found != joined_.end() ? &found->second : nullptr;
}

const Record& CollectivePlans::in_ring(const Record& record) const {
  const Joined* joined = made_.empty() ? nullptr : of(record);
  return joined != nullptr && joined->no_wrapper_saw ? *joined->first : record;
}

void CollectivePlans::correct(DoorCalls& calls) const noexcept {
  calls[static_cast<std::size_t>(ring::DoorId::nccl)] -= shown_calls_;
  calls[static_cast<std::size_t>(ring::DoorId::nccl_plugin)] = seen_;
}

void CollectivePlans::describe(trace::JsonObject& metadata) const {
  if (seen_ + unseen_calls_ + of_other_windows_ + parts_ == 0) return;
  trace::JsonObject object;
  object.add("seen", seen_)
      .add("calls_explained", joined_.size())
      .add("calls_no_wrapper_saw", unseen_calls_)
      .add("of_calls_outside_the_window", of_other_windows_);
  if (parts_ != 0) object.add("kernel_channels_and_proxies", parts_);
  metadata.add("nccl_plans", object);
}

}  // namespace traceagent::drain
