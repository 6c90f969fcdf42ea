#include "tests/sim/cupti/device_entries.hpp"

#include <algorithm>

#include "tests/sim/cupti/timestamps.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu::cupti {
namespace {

using activity::DeviceWork;
using activity::DeviceWorkPtr;

std::uint64_t end_of(const DeviceWork& work, bool over) { return over ? told_ns(work.end_ns) : 0; }

std::uint64_t begin_of(const DeviceWork& work) {
  return work.resolved.load(std::memory_order_acquire) ? told_ns(work.begin_ns) : 0;
}

template <class Newest>
void fill_place(Newest& record, const DeviceWork& work, bool over) {
  record.start = begin_of(work);
  record.end = end_of(work, over);
  record.deviceId = work.device;
  record.contextId = work.context;
  record.streamId = work.stream;
  record.correlationId = work.correlation;
  record.graphNodeId = work.graph == 0 ? 0 : work.facts.graph_node;
  record.graphId = work.graph;
}

bool between_devices(const WorkFacts& facts) {
  return facts.from_device >= 0 && facts.to_device >= 0 && facts.from_device != facts.to_device;
}

std::uint8_t copy_kind(const WorkFacts& facts) {
  const bool from_device = facts.from_device >= 0;
  const bool to_device = facts.to_device >= 0;
  if (between_devices(facts)) {
    return CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  }
  if (from_device) {
    return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  }
  return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

Entry kernel_entry(const DeviceWork& work, CUpti_ActivityKind kind, bool over) {
  const WorkFacts& facts = work.facts;
  CUpti_ActivityKernel10 record{};
  record.kind = kind;
  fill_place(record, work, over);
  record.completed = record.end;
  record.registersPerThread = static_cast<std::uint16_t>(facts.registers);
  record.gridX = static_cast<std::int32_t>(facts.grid[0]);
  record.gridY = static_cast<std::int32_t>(facts.grid[1]);
  record.gridZ = static_cast<std::int32_t>(facts.grid[2]);
  record.blockX = static_cast<std::int32_t>(facts.block[0]);
  record.blockY = static_cast<std::int32_t>(facts.block[1]);
  record.blockZ = static_cast<std::int32_t>(facts.block[2]);
  record.staticSharedMemory = static_cast<std::int32_t>(facts.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<std::int32_t>(facts.shared_bytes);
  record.sharedMemoryExecuted = 65'536;
  record.gridId = work.correlation;
  record.name = truth::name_text(facts.name);
  record.channelID = 7 + work.stream % 8;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  record.clusterX = facts.cluster[0];
  record.clusterY = facts.cluster[1];
  record.clusterZ = facts.cluster[2];
  return entry_of(record, kind);
}

Entry copy_entry(const DeviceWork& work, bool over) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  fill_place(record, work, over);
  record.copyKind = copy_kind(work.facts);
  record.srcKind = static_cast<std::uint8_t>(work.facts.from);
  record.dstKind = static_cast<std::uint8_t>(work.facts.to);
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = work.facts.bytes;
  record.channelID = 2;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  record.copyCount = 1;
  return entry_of(record, record.kind);
}

Entry peer_copy_entry(const DeviceWork& work, bool over) {
  const auto from = static_cast<std::uint32_t>(work.facts.from_device);
  const auto to = static_cast<std::uint32_t>(work.facts.to_device);
  CUpti_ActivityMemcpyPtoP4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  fill_place(record, work, over);
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  record.srcKind = static_cast<std::uint8_t>(work.facts.from);
  record.dstKind = static_cast<std::uint8_t>(work.facts.to);
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = work.facts.bytes;
  record.srcDeviceId = from;
  record.srcContextId = activity::context_of(work.facts.from_device);
  record.dstDeviceId = to;
  record.dstContextId = activity::context_of(work.facts.to_device);
  record.channelID = 3;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  return entry_of(record, record.kind);
}

Entry set_entry(const DeviceWork& work, bool over) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill_place(record, work, over);
  record.value = work.facts.set_value;
  record.bytes = work.facts.bytes;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
  record.memoryKind = static_cast<std::uint16_t>(work.facts.to);
  record.channelID = 8;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  return entry_of(record, record.kind);
}

Entry record_of(const DeviceWork& work, CUpti_ActivityKind kind, bool over) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return copy_entry(work, over);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return peer_copy_entry(work, over);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return set_entry(work, over);
    default:
      return kernel_entry(work, kind, over);
  }
}

}  // namespace

CUpti_ActivityKind kind_of(const DeviceWork& work) {
  switch (work.facts.kind) {
    case WorkKind::kernel:
    case WorkKind::collective:
      return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case WorkKind::copy:
      return between_devices(work.facts) ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY;
    case WorkKind::set:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    default:
      return CUPTI_ACTIVITY_KIND_INVALID;
  }
}

Entry work_entry(const DeviceWorkPtr& work, CUpti_ActivityKind kind, bool over) {
  Entry entry = record_of(*work, kind, over);
  entry.works.push_back(work);
  entry.fate = over ? CuptiState::delivered : CuptiState::incomplete;
  return entry;
}

Entry graph_entry(std::vector<DeviceWorkPtr> works, bool over) {
  CUpti_ActivityGraphTrace2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  const DeviceWork& first = *works.front();
  record.start = begin_of(first);
  record.correlationId = first.correlation;
  record.deviceId = record.endDeviceId = first.device;
  record.contextId = record.endContextId = first.context;
  record.streamId = first.stream;
  record.graphId = first.graph;
  for (const DeviceWorkPtr& work : works) {
    record.start = std::min<std::uint64_t>(record.start, begin_of(*work));
    record.end = std::max<std::uint64_t>(record.end, end_of(*work, over));
  }
  Entry entry = entry_of(record, record.kind);
  entry.works = std::move(works);
  entry.fate = over ? CuptiState::delivered : CuptiState::incomplete;
  return entry;
}

void take_times(Entry& entry, bool all) {
  // At the same places in every kind's record.
  static_assert(offsetof(CUpti_ActivityKernel10, start) == offsetof(CUpti_ActivityMemcpy6, start));
  static_assert(offsetof(CUpti_ActivityKernel10, start) ==
                offsetof(CUpti_ActivityMemcpyPtoP4, start));
  static_assert(offsetof(CUpti_ActivityKernel10, start) == offsetof(CUpti_ActivityMemset4, start));
  std::uint64_t times[2];  // start, end
  unsigned char* const place = entry.bytes + offsetof(CUpti_ActivityKernel10, start);
  std::memcpy(times, place, sizeof times);
  times[1] = all ? 0 : times[0] - 1;
  times[0] = all ? 0 : times[0];
  std::memcpy(place, times, sizeof times);
  entry.fate = CuptiState::untimed;
}

}  // namespace simgpu::cupti
