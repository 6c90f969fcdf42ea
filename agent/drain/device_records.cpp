#include "agent/drain/device_records.hpp"

namespace traceagent::drain {

using event::Layout;
using event::Record;

namespace {

// From 1970 to 2116: what a damaged ring holds beyond is no time, and its differences no numbers.
// All that is of the device has its start and end in the same two fields.
bool has_times(const Record& record) noexcept {
  constexpr std::uint64_t last_ns = std::uint64_t{1} << 62;
  return record.args[0] < last_ns && record.args[1] < last_ns;
}

void add(const Record& record, std::uint32_t thread_id, std::uint64_t begin_ticks,
         DeviceRecords& records) {
  // Acquire pairs with publish(): the record's other fields are seen.
  const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
  if (begin == 0) return;
  if (!event::is_host_call(record.layout) && !has_times(record)) return;
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
