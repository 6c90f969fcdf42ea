#include "agent/drain/device_records.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;

namespace {

void add(const Record& record, std::uint32_t thread_id, std::uint64_t begin_ticks,
         DeviceRecords& records) {
  // Acquire pairs with publish(): the record's other fields are seen.
  const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
  if (begin == 0) return;
  switch (record.layout) {
    case Layout::device_work:
      records.work.push_back(&record);
      return;
    case Layout::api_call:
      records.api_calls.push_back(&record);
      return;
    case Layout::timed_by_event:
      records.timed.push_back(&record);
      return;
    default:
      break;
  }
  if (!event::is_host_call(record.layout) || begin >= begin_ticks) return;
  const std::uint64_t end = record.end_ticks.load(std::memory_order_relaxed);
  if (end == 0 || end > begin_ticks) records.straddlers.push_back({thread_id, &record});
}

}  // namespace

DeviceRecords collect_device(const ring::Ring& ring, std::uint64_t begin_ticks) {
  DeviceRecords records;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const ring::Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    const std::uint32_t thread_id = chunk.thread_id.load(std::memory_order_relaxed);
    for (const Record& record : chunk.records) add(record, thread_id, begin_ticks, records);
  }
  return records;
}

}  // namespace traceagent::drain
