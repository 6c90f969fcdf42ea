#include "agent/door/nccl_plugin_recording.hpp"

#include <unistd.h>

#include <array>

#include "agent/door/communicator_slots.hpp"
#include "agent/door/interned_text.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/nccl_plugin_handle.hpp"
#include "agent/door/nccl_plugin_mask.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {

constinit thread_local const event::Record* open_nccl_call = nullptr;

namespace nccl_plugin {
namespace {

using event::PlanKind;
using event::Record;

constinit std::array<Communicator, 1024> communicators{};

std::uint32_t slot_of(Communicator* communicator, const Event& event) noexcept {
  if (communicator == nullptr) return 0;
  const std::uint32_t generation = ring::target.generation.load(std::memory_order_acquire);
  const std::uint32_t slot = communicator->slot.load(std::memory_order_relaxed);
  if (slot != 0 && communicator->generation.load(std::memory_order_relaxed) == generation) {
    return slot;
  }
  if (communicator->id == 0) {
    communicator->id = event.comm_hash;
    communicator->rank = event.rank;
  }
  const std::uint32_t added = take_communicator_slot(
      {communicator->id, communicator->size, communicator->rank, event::told_by_nccl});
  communicator->slot.store(added, std::memory_order_relaxed);
  communicator->generation.store(generation, std::memory_order_relaxed);
  return added;
}

// As ring::claim(), but what finds no room is counted as a plan, not as a call.
Record* claim_plan() noexcept {
  ring::Writer& writer = ring::writer;
  if (!ring::target.ring.valid() || writer.nested_in_start != 0) return nullptr;
  const ring::DropCause cause = writer.full_cause;
  writer.full_cause = ring::DropCause::plan_ring_full;
  Record* record = ring::claim(writer);
  writer.full_cause = cause;
  return record;
}

std::uint64_t call_of_this_thread() noexcept {
  const Record* call = open_nccl_call;
  // A call that was left by an exception or a longjmp is no call any more.
  if (call == nullptr || ring::writer.nccl_frame == 0) return 0;
  if (call->layout != event::Layout::collective || !ring::target.ring.valid()) return 0;
  return ring::correlation_of(ring::target.ring, *call);
}

// From version 5 on the parent says which call it was, also on NCCL's own threads.
std::uint64_t call_of(const void* parent) noexcept {
  if (is_own(parent) && kind_of(parent) == HandleKind::call) return value_of(parent);
  return call_of_this_thread();
}

void* publish(Record& record) noexcept {
  ring::publish(record, event::read_ticks());
  return handle_of(ring::target.ring, record);
}

void* begin_collective(Communicator* communicator, const Event& seen, const void* parent) noexcept {
  Record* record = claim_plan();
  if (record == nullptr) return nullptr;
  event::CollectivePlan plan{};
  plan.function = static_cast<std::uint16_t>(seen.function);
  plan.communicator = slot_of(communicator, seen);
  plan.algorithm = intern(seen.algorithm);
  plan.protocol = intern(seen.protocol);
  plan.count = seen.count;
  plan.sequence = seen.sequence;
  plan.datatype = seen.datatype;
  plan.channels = seen.channels;
  plan.warps = seen.warps;
  plan.peer = seen.peer;
  plan.call = call_of(parent);
  const bool by_copies = seen.type == copy_engine_event;
  event::fill(*record, by_copies ? PlanKind::copy_engine : PlanKind::collective, plan);
  return publish(*record);
}

PlanKind part_kind(std::uint32_t type) noexcept {
  switch (type) {
    case kernel_channel_event:
      return PlanKind::kernel_channel;
    case proxy_operation_event:
      return PlanKind::proxy_operation;
    case proxy_step_event:
      return PlanKind::proxy_step;
    default:
      return PlanKind::network;
  }
}

// What a part belongs to, by its parent: a collective, or a part of one.
void inherit(event::PlanPart& part, const Record& parent) noexcept {
  part.function = parent.function;
  part.communicator = parent.extra;
  if (event::is_plan_of_collective(parent)) {
    part.sequence = event::collective_plan_of(parent).sequence;
    return;
  }
  const event::PlanPart above = event::plan_part_of(parent);
  part.sequence = above.sequence;
  part.peer = above.peer;
  part.is_send = above.is_send;
}

void* begin_part(Communicator* communicator, const Event& seen, const void* parent) noexcept {
  Record* record = claim_plan();
  if (record == nullptr) return nullptr;
  event::PlanPart part{};
  part.communicator = slot_of(communicator, seen);
  part.sequence = event::no_sequence;
  part.peer = seen.peer;
  part.is_send = seen.is_send;
  // A proxy may work for another process, whose handle means nothing here.
  const bool is_foreign = seen.type == proxy_operation_event && seen.pid != getpid();
  const Record* above = is_foreign ? nullptr : record_of(ring::target.ring, parent);
  if (above != nullptr && above != record) inherit(part, *above);
  if (seen.type == proxy_operation_event) {
    part.peer = seen.peer;
    part.is_send = seen.is_send;
  }
  part.channel = seen.channel;
  part.gpu_begin_ns = seen.gpu_ns;
  part.bytes = seen.bytes;
  event::fill(*record, part_kind(seen.type), part);
  return publish(*record);
}

}  // namespace

Communicator* add_plugin_communicator(std::uint64_t id, int size, int rank) noexcept {
  for (Communicator& each : communicators) {
    bool used = false;
    if (!each.used.compare_exchange_strong(used, true, std::memory_order_acquire)) continue;
    each.id = id;
    each.size = size;
    each.rank = rank;
    each.slot.store(0, std::memory_order_relaxed);
    each.users_context = nullptr;
    each.users_failed = false;
    return &each;
  }
  return nullptr;
}

void remove_plugin_communicator(Communicator* communicator) noexcept {
  if (communicator == nullptr) return;
  const std::uint32_t generation = ring::target.generation.load(std::memory_order_acquire);
  const std::uint32_t slot = communicator->slot.exchange(0, std::memory_order_relaxed);
  if (communicator->generation.load(std::memory_order_relaxed) == generation) {
    free_communicator_slot(slot);
  }
  communicator->used.store(false, std::memory_order_release);
}

void* begin_event(Communicator* communicator, const Event& seen, const void* parent) noexcept {
  switch (seen.type) {
    case collective_event:
    case point_to_point_event:
    case copy_engine_event:
      return is_recorded(seen.type) ? begin_collective(communicator, seen, parent) : nullptr;
    case collective_call_event:
    case point_to_point_call_event:
      return make_handle(HandleKind::call, call_of_this_thread());
    case proxy_operation_event:
    case proxy_step_event:
    case kernel_channel_event:
    case network_event:
      return is_recorded(seen.type) ? begin_part(communicator, seen, parent) : nullptr;
    default:
      return make_handle(HandleKind::nothing, 0);
  }
}

void end_event(const void* handle) noexcept {
  Record* record = record_of(ring::target.ring, handle);
  if (record == nullptr || record->end_ticks.load(std::memory_order_relaxed) != 0) return;
  record->end_ticks.store(event::read_ticks(), std::memory_order_release);
}

void note_state(const void* handle, int state, std::uint64_t value) noexcept {
  Record* record = record_of(ring::target.ring, handle);
  if (record == nullptr || record->end_ticks.load(std::memory_order_relaxed) != 0) return;
  const auto kind = event::plan_kind_of(*record);
  if (kind == PlanKind::kernel_channel && state == kernel_channel_ended) {
    record->args[1] = value;
  } else if (kind == PlanKind::proxy_step && value != 0) {
    event::PlanPart part = event::plan_part_of(*record);
    part.bytes = value;
    event::fill(*record, kind, part);
  }
}

}  // namespace nccl_plugin
}  // namespace traceagent::door
