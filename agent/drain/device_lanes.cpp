#include "agent/drain/device_lanes.hpp"

#include "agent/event/hash.hpp"

namespace traceagent::drain {
namespace {

constexpr std::int64_t tids_of_context = 5'000;
constexpr std::int64_t contexts_of_device = 8;
constexpr std::int64_t devices = 16;
constexpr std::int64_t first_waits_tid =
    first_device_tid + devices * contexts_of_device * tids_of_context;
constexpr std::int64_t first_timed_tid = 6'800'000;
static_assert(first_waits_tid < first_timed_tid);
constexpr std::int64_t end_of_tids = 7'000'000;  // where NCCL's own lanes begin
// At a context's end, behind its streams.
constexpr std::int64_t streams_of_context = tids_of_context - 10;
// As in NestingLanes: a damaged ring's times must not make every event dear.
constexpr std::size_t most_lanes = 512;

std::int64_t slot_of(const LaneKey& key) noexcept {
  if (key.kind == LaneKind::stream) {
    return static_cast<std::int64_t>(key.stream % streams_of_context);
  }
  return streams_of_context + static_cast<std::int64_t>(key.kind);
}

}  // namespace

std::int64_t tid_of(const LaneKey& key) noexcept {
  const std::uint64_t hash = event::combine(key.stream, key.device);
  const auto hashed = [hash](std::int64_t first, std::int64_t end) {
    return first + static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(end - first));
  };
  if (key.kind == LaneKind::waits) return hashed(first_waits_tid, first_timed_tid);
  if (key.kind == LaneKind::timed) return hashed(first_timed_tid, end_of_tids);
  const std::int64_t context = key.device % devices * contexts_of_device +
                               static_cast<std::int64_t>(key.context % contexts_of_device);
  return first_device_tid + context * tids_of_context + slot_of(key);
}

DeviceLanes::Lane& DeviceLanes::lane(const LaneKey& key) {
  // Work comes in runs of one stream.
  if (latest_ != nullptr && latest_key_ == key) return *latest_;
  const auto [found, is_new] = lanes_.try_emplace(key);
  if (is_new) {
    std::int64_t tid = tid_of(key);
    while (!taken_.emplace(tid, key).second)
      tid = tid + 1 < end_of_tids ? tid + 1 : first_device_tid;
    found->second.tid = tid;
  }
  latest_key_ = key;
  latest_ = &found->second;
  return *latest_;
}

std::int64_t DeviceLanes::place(const LaneKey& key, std::int64_t begin_ns, std::int64_t end_ns) {
  Lane& used = lane(key);
  std::size_t i = 0;
  while (i < used.ends.size() && used.ends[i] > begin_ns && i + 1 < most_lanes) ++i;
  if (i == used.ends.size()) used.ends.push_back(end_ns);
  used.ends[i] = end_ns;
  return spill_tid(used.tid, i);
}

std::int64_t DeviceLanes::tid(const LaneKey& key) {
  Lane& used = lane(key);
  if (used.ends.empty()) used.ends.push_back(INT64_MIN);
  return used.tid;
}

}  // namespace traceagent::drain
