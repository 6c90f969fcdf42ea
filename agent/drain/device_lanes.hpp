#pragma once
// The lanes of the device's work: one for each stream, more where work overlaps on it. Nothing
// overlaps on a lane, not even nested: a stream shows what ran, and nothing runs within a kernel.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "agent/drain/lanes.hpp"

namespace traceagent::drain {

enum class LaneKind : std::uint8_t {
  stream,
  waits,     // cuda_sync, by thread: each of them waits for one thing at a time
  memory,    // instants of allocation and release
  overhead,  // CUPTI's own
  timed,     // between CUDA events; the stream is a handle
};

struct LaneKey {
  std::uint16_t device = 0;
  std::uint32_t context = 0;
  std::uint64_t stream = 0;  // 0 for memory and overhead; the thread for waits
  LaneKind kind = LaneKind::stream;

  friend bool operator==(const LaneKey&, const LaneKey&) = default;
  auto tie() const { return std::tie(device, context, kind, stream); }
  friend bool operator<(const LaneKey& a, const LaneKey& b) { return a.tie() < b.tie(); }
};

inline constexpr std::int64_t first_device_tid = 6'000'000;

// The same stream has the same tid in every file of a rank (but for the thousands-first stream of a
// context), so that a merged file of several cycles has one lane for it. Below 7,000,000.
std::int64_t tid_of(const LaneKey& key) noexcept;

class DeviceLanes {
 public:
  // The tid for [begin_ns, end_ns). Call in order of begin.
  std::int64_t place(const LaneKey& key, std::int64_t begin_ns, std::int64_t end_ns);
  // The tid without spilling: for instants.
  std::int64_t tid(const LaneKey& key);

  // tid, key and number of lanes (the others are spill_tid(tid, 1 …)) of all that were used.
  template <class Function>
  void visit(Function&& function) const {
    for (const auto& [tid, key] : taken_) function(tid, key, lanes_.at(key).ends.size());
  }

 private:
  struct Lane {
    std::int64_t tid = 0;
    std::vector<std::int64_t> ends;  // of the last work on each of its lanes
  };
  Lane& lane(const LaneKey& key);

  std::map<LaneKey, Lane> lanes_;
  std::map<std::int64_t, LaneKey> taken_;
  LaneKey latest_key_;
  Lane* latest_ = nullptr;
};

}  // namespace traceagent::drain
