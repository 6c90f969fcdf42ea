#include "tests/sim/engine/operation.hpp"

#include <algorithm>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/stream.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu {
namespace {

void begin_after(Operation& operation, const Predecessor& before) {
  const Operation& done = *before.operation;
  operation.floor_ns =
      std::max(operation.floor_ns, before.overlaps ? done.overlap_ns : done.done_ns);
  operation.done_ns = std::max(operation.done_ns, done.done_ns);
}

Record* claim_device_record(const Work& work, const Stream& stream, std::uint64_t call_number) {
  Record* record = truth::claim();
  if (record == nullptr) {
    return nullptr;
  }
  record->kind = RecordKind::device;
  record->work = work.kind;
  record->number = call_number;
  record->name = work.name;
  record->stream = reinterpret_cast<std::uint64_t>(&stream);
  record->stream_id = stream.id;
  record->device = stream.device;
  record->bytes = work.bytes;
  record->address = work.address;
  record->copy_kind = work.copy_kind;
  record->shared_bytes = work.shared_bytes;
  std::copy_n(work.grid, 3, record->grid);
  std::copy_n(work.block, 3, record->block);
  std::copy_n(work.cluster, 3, record->cluster);
  record->registers = work.registers;
  return record;
}

activity::DeviceWorkPtr activity_of(const Work& work, const Stream& stream, std::uint32_t graph) {
  auto made = std::make_shared<activity::DeviceWork>();
  made->facts = work;
  made->device = static_cast<std::uint32_t>(stream.device);
  made->context = activity::context_of(stream.device);
  made->stream = static_cast<std::uint32_t>(stream.id);
  made->correlation = activity::current_correlation();
  made->graph = graph;
  made->launch_begin_ns = activity::current_begin_ns();
  return made;
}

void note_activity(Record& record, const activity::DeviceWork& work, std::size_t part) {
  record.graph_node = work.facts.graph_node;
  record.graph = work.graph;
  record.correlation = work.correlation;
  record.context = work.context;
  record.launch_number = current_call();
  record.launch_begin_ns = work.launch_begin_ns;
  record.part = static_cast<std::uint32_t>(part);
}

bool everyone_arrived(Operation& operation) {
  operation.end_ns = operation.start_ns;
  for (const auto& part : operation.parts) {
    const auto end_ns = part->end_ns();
    if (!end_ns) {
      return false;
    }
    operation.end_ns = std::max(operation.end_ns, *end_ns);
  }
  return true;
}

}  // namespace

bool runs_as_kernel(const Work& work) {
  return work.kind == WorkKind::kernel || work.kind == WorkKind::collective;
}

void add_predecessor(Operation& operation, const Predecessor& before) {
  if (before.operation == nullptr) {
    return;
  }
  if (before.operation->resolved) {
    begin_after(operation, before);
  } else {
    operation.after.push_back(before);
  }
}

bool predecessors_settled(Operation& operation) {
  auto& after = operation.after;
  std::erase_if(after, [&](const Predecessor& before) {
    if (before.operation->resolved) {
      begin_after(operation, before);
    }
    return before.operation->resolved;
  });
  return after.empty();
}

void claim_records(Operation& operation, const Work& work, const Stream& stream,
                   std::uint64_t call_number, std::uint32_t graph) {
  operation.activity = activity_of(work, stream, graph);
  const std::size_t count = std::max<std::size_t>(operation.parts.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    Record* record = claim_device_record(work, stream, call_number);
    if (record == nullptr) {
      return;
    }
    if (i < operation.parts.size()) {
      operation.parts[i]->describe(*record);
    }
    note_activity(*record, *operation.activity, i);
    operation.activity->records.push_back(record);
    record->state.store(RecordState::open, std::memory_order_release);
    operation.records.push_back(record);
  }
}

void resolve(Operation& operation) {
  const auto lasted_ns = static_cast<double>(operation.end_ns - operation.start_ns);
  const auto early_ns = static_cast<std::int64_t>(lasted_ns * script().concurrent_kernels);
  operation.overlap_ns = operation.end_ns - early_ns;
  operation.done_ns = std::max(operation.done_ns, operation.end_ns);
  operation.resolved = true;
  const std::int64_t offset_ns = script().clock_offset_ns;
  for (std::size_t i = 0; i < operation.records.size(); ++i) {
    const bool own_end = i < operation.parts.size();
    Record& record = *operation.records[i];
    record.begin_ns = operation.start_ns + offset_ns;
    record.end_ns = (own_end ? *operation.parts[i]->end_ns() : operation.end_ns) + offset_ns;
    record.kernel_end_ns = operation.end_ns + offset_ns;
    record.state.store(RecordState::closed, std::memory_order_release);
  }
  operation.records.clear();
  operation.parts.clear();
  if (activity::DeviceWork* work = operation.activity.get()) {
    work->begin_ns = operation.start_ns + offset_ns;
    work->end_ns = operation.end_ns + offset_ns;
    work->over_ns = operation.end_ns;
    work->resolved.store(true, std::memory_order_release);
  }
}

bool everyone_met(Operation& operation) {
  if (!operation.arrived) {
    // Every part, not the first that says no: peers may wait for any of them.
    bool all = true;
    for (const auto& part : operation.parts) {
      all = part->arrive(operation.start_ns) && all;
    }
    operation.arrived = all;
  }
  return operation.arrived && everyone_arrived(operation);
}

}  // namespace simgpu
