#include "agent/drain/plan_matcher.hpp"

#include "agent/drain/collective_terms.hpp"
#include "agent/event/plan_record.hpp"

namespace traceagent::drain {

using api::Function;
using event::Collective;
using event::Record;

namespace {

std::uint64_t begin_of(const Record& record) noexcept {
  return record.begin_ticks.load(std::memory_order_relaxed);
}

const ring::Communicator* communicator(const ring::Ring& ring, std::uint32_t slot) noexcept {
  if (slot == 0 || slot > ring::communicator_slots) return nullptr;
  return &ring.header().communicators[slot - 1];
}

}  // namespace

std::optional<Collective> collective_of(Function function) noexcept {
  switch (function) {
    case Function::ncclAllReduce:
      return Collective::all_reduce;
    case Function::ncclReduce:
      return Collective::reduce;
    case Function::ncclBcast:
    case Function::ncclBroadcast:
      return Collective::broadcast;
    case Function::ncclReduceScatter:
      return Collective::reduce_scatter;
    case Function::ncclAllGather:
      return Collective::all_gather;
    case Function::ncclAlltoAll:
      return Collective::all_to_all;
    case Function::ncclGather:
      return Collective::gather;
    case Function::ncclScatter:
      return Collective::scatter;
    case Function::ncclSend:
      return Collective::send;
    case Function::ncclRecv:
      return Collective::receive;
    default:
      return std::nullopt;
  }
}

PlanMatcher::PlanMatcher(const ring::Ring& ring, const std::vector<ThreadEvents>& threads)
    : ring_(ring) {
  for (const ThreadEvents& thread : threads) add(thread);
}

PlanMatcher::Shape PlanMatcher::shape(Collective kind, std::uint64_t count, std::uint64_t type,
                                      std::int32_t peer) noexcept {
  return {kind, count * datatype_bytes(static_cast<unsigned>(type & 0xff)),
          event::is_point_to_point(kind) ? peer : -1};
}

PlanMatcher::Shape PlanMatcher::shape_of_call(const Record& call) noexcept {
  return shape(static_cast<Collective>(call.detail), call.args[0], call.args[2],
               static_cast<std::int32_t>(call.args[2] >> 32));
}

void PlanMatcher::add(const ThreadEvents& thread) {
  std::vector<std::pair<Shape, std::size_t>> in_group;
  std::size_t depth = 0;
  for (const Record* record : thread.records) {
    const auto function = static_cast<Function>(record->function);
    if (function == Function::ncclGroupStart) ++depth;
    if (function == Function::ncclGroupEnd) {
      // 0 also where the group began before the window.
      if (depth > 0) --depth;
      if (depth != 0) continue;
      for (const auto& [shape, index] : in_group) waiting_[shape].calls[index].group_end = record;
      in_group.clear();
    }
    if (record->layout != event::Layout::collective) continue;
    by_number_.emplace(correlation_of(ring_, *record), record);
    const Shape shape = shape_of_call(*record);
    std::vector<Waiting>& alike = waiting_[shape].calls;
    place_of_.emplace(record, alike.size());
    if ((record->flags & event::flag_in_group) != 0) in_group.emplace_back(shape, alike.size());
    alike.push_back({record, thread.thread_id, nullptr});
  }
}

const Record* PlanMatcher::named(std::uint64_t call) const {
  const auto found = by_number_.find(call);
  return found != by_number_.end() ? found->second : nullptr;
}

bool PlanMatcher::same_communicator(const Record& call, const Record& plan) const {
  const auto known = known_.find(plan.extra);
  if (known != known_.end()) return known->second == call.extra;
  const ring::Communicator* of_call = communicator(ring_, call.extra);
  const ring::Communicator* of_plan = communicator(ring_, plan.extra);
  if (of_call == nullptr || of_plan == nullptr) return true;
  const auto may_equal = [](std::int32_t a, std::int32_t b, std::int32_t lowest) {
    return a < lowest || b < lowest || a == b;
  };
  return may_equal(of_call->size, of_plan->size, 1) && may_equal(of_call->rank, of_plan->rank, 0);
}

bool PlanMatcher::may_be(const Waiting& waiting, const ToldPlan& told, bool same_thread) const {
  if (waiting.call == nullptr || (waiting.thread_id == told.thread_id) != same_thread) return false;
  const std::uint64_t launched = begin_of(*told.record);
  if (begin_of(*waiting.call) > launched) return false;
  if (same_thread) {
    // Launched by the end of its group, while that ran. On another thread (a communicator that
    // does not block) it may come at any time later.
    if (waiting.group_end == nullptr || launched < begin_of(*waiting.group_end)) return false;
    const std::uint64_t end = waiting.group_end->end_ticks.load(std::memory_order_acquire);
    if (end != 0 && launched > end) return false;
  }
  return same_communicator(*waiting.call, *told.record);
}

const Record* PlanMatcher::find(const ToldPlan& told) const {
  const auto kind = collective_of(static_cast<Function>(told.record->function));
  if (!kind) return nullptr;
  const event::CollectivePlan plan = event::collective_plan_of(*told.record);
  const auto found = waiting_.find(shape(*kind, plan.count, plan.datatype, plan.peer));
  if (found == waiting_.end()) return nullptr;
  const auto begin = found->second.calls.begin() + static_cast<std::ptrdiff_t>(found->second.first);
  for (const bool same_thread : {true, false}) {
    const Record* first = nullptr;
    for (auto at = begin; at != found->second.calls.end(); ++at) {
      const Waiting& each = *at;
      if (!may_be(each, told, same_thread)) continue;
      if (first == nullptr || begin_of(*each.call) < begin_of(*first)) first = each.call;
      if (same_thread) break;
    }
    if (first != nullptr) return first;
  }
  return nullptr;
}

void PlanMatcher::match(const Record& call, const Record& plan) {
  known_.emplace(plan.extra, call.extra);
  const auto place = place_of_.find(&call);
  if (place == place_of_.end()) return;
  Alike& alike = waiting_[shape_of_call(call)];
  alike.calls[place->second].call = nullptr;
  while (alike.first < alike.calls.size() && alike.calls[alike.first].call == nullptr) {
    ++alike.first;
  }
}

}  // namespace traceagent::drain
