#include "agent/device/outstanding.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "agent/device/api_functions.hpp"
#include "agent/event/device_record.hpp"

namespace traceagent::device {
namespace {

template <class Visit>
void for_each_record(const ring::Ring& ring, Visit&& visit) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const ring::Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    for (const event::Record& record : chunk.records) {
      // Acquire pairs with publish(): the record's other fields are seen.
      if (record.begin_ticks.load(std::memory_order_acquire) != 0) visit(record, chunk);
    }
  }
}

class Uses {
 public:
  explicit Uses(const ring::Ring& ring) : ring_(ring) {}
  ApiUse operator()(std::uint32_t name) {
    const auto [found, is_new] = known_.try_emplace(name, ApiUse::none);
    if (is_new) found->second = use_of(ring_.name(name));
    return found->second;
  }

 private:
  const ring::Ring& ring_;
  std::unordered_map<std::uint32_t, ApiUse> known_;
};

struct Launch {
  std::uint32_t thread_id;
  std::uint32_t correlation;
  std::int64_t start_ns;
};

// Of each thread: when captures began (true) and ended.
using Captures = std::unordered_map<std::uint32_t, std::map<std::int64_t, bool>>;

bool is_captured(const Captures& captures, const Launch& launch) {
  const auto thread = captures.find(launch.thread_id);
  if (thread == captures.end()) return false;
  const auto after = thread->second.upper_bound(launch.start_ns);
  return after != thread->second.begin() && std::prev(after)->second;
}

class CorrelationSet {
 public:
  CorrelationSet(std::uint32_t first, std::uint32_t last)
      : first_(first), bits_(std::size_t{last - first} + 1, false) {}
  void add(std::uint32_t id) {
    if (id >= first_ && id - first_ < bits_.size()) bits_[id - first_] = true;
  }
  bool has(std::uint32_t id) const { return bits_[id - first_]; }

 private:
  std::uint32_t first_;
  std::vector<bool> bits_;
};

bool is_work(const event::Record& record) noexcept {
  using event::Layout;
  return record.result == 0 && (record.layout == Layout::launch || record.layout == Layout::copy ||
                                record.layout == Layout::peer_copy || record.layout == Layout::set);
}

// Of one thread, in nanoseconds; 0: none.
struct Latest {
  std::int64_t called = 0;  // the middle of the last call that we recorded
  std::int64_t told = 0;    // the end of the last one that CUPTI told of
};

}  // namespace

std::uint64_t outstanding_launches(const ring::Ring& ring, std::int64_t begin_ns,
                                   std::int64_t end_ns) {
  Uses uses(ring);
  Captures captures;
  std::vector<Launch> launches;
  for_each_record(ring, [&](const event::Record& record, const ring::Chunk&) {
    if (record.layout != event::Layout::api_call) return;
    const event::ApiCall call = event::api_call_of(record);
    const ApiUse use = uses(call.name);
    if (call.result != 0) return;
    if (use == ApiUse::begin_capture || use == ApiUse::end_capture) {
      captures[call.thread_id][call.end_ns] = use == ApiUse::begin_capture;
    }
    if (use != ApiUse::work || call.start_ns < begin_ns || call.start_ns >= end_ns) return;
    launches.push_back({call.thread_id, call.correlation, call.start_ns});
  });
  std::erase_if(launches, [&](const Launch& launch) { return is_captured(captures, launch); });
  if (launches.empty()) return 0;
  const auto [first, last] = std::minmax_element(
      launches.begin(), launches.end(),
      [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
  // 2^28 calls apart (or a damaged ring): not worth 32 MiB and more.
  constexpr std::uint32_t widest = std::uint32_t{1} << 28;
  if (last->correlation - first->correlation >= widest) return 0;
  CorrelationSet arrived(first->correlation, last->correlation);
  for_each_record(ring, [&](const event::Record& record, const ring::Chunk&) {
    if (record.layout != event::Layout::device_work) return;
    arrived.add(event::device_work_of(record).correlation);
  });
  return static_cast<std::uint64_t>(
      std::count_if(launches.begin(), launches.end(),
                    [&](const Launch& launch) { return !arrived.has(launch.correlation); }));
}

std::uint64_t threads_behind(const ring::Ring& ring, const event::TickConverter& clock,
                             std::int64_t begin_ns, std::int64_t end_ns) {
  std::unordered_map<std::uint32_t, Latest> threads;
  for_each_record(ring, [&](const event::Record& record, const ring::Chunk& chunk) {
    if (record.layout == event::Layout::api_call) {
      const event::ApiCall call = event::api_call_of(record);
      std::int64_t& told = threads[call.thread_id].told;
      told = std::max(told, call.end_ns);
    }
    const std::uint64_t end_ticks = record.end_ticks.load(std::memory_order_relaxed);
    if (!is_work(record) || end_ticks == 0) return;
    const std::int64_t called_ns =
        clock.realtime_ns(record.begin_ticks.load(std::memory_order_relaxed));
    if (called_ns < begin_ns || called_ns >= end_ns) return;
    std::int64_t& called = threads[chunk.thread_id.load(std::memory_order_relaxed)].called;
    called = std::max(called, called_ns + (clock.realtime_ns(end_ticks) - called_ns) / 2);
  });
  return static_cast<std::uint64_t>(
      std::count_if(threads.begin(), threads.end(),
                    [](const auto& thread) { return thread.second.told < thread.second.called; }));
}

}  // namespace traceagent::device
