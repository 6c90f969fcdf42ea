#include "agent/device/outstanding.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/device/api_functions.hpp"
#include "agent/device/capture_spans.hpp"
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
  std::int64_t start_ns, end_ns;

  std::int64_t middle_ns() const noexcept { return start_ns + (end_ns - start_ns) / 2; }
};

// What CUPTI told of calls.
struct Told {
  std::vector<Launch> launches;    // that began in the window, and must have work
  std::vector<CaptureEdge> edges;  // of all times
};

Told calls_told(const ring::Ring& ring, std::int64_t begin_ns, std::int64_t end_ns) {
  Uses uses(ring);
  Told told;
  for_each_record(ring, [&](const event::Record& record, const ring::Chunk&) {
    if (record.layout != event::Layout::api_call) return;
    const event::ApiCall call = event::api_call_of(record);
    const ApiUse use = uses(call.name);
    if (use == ApiUse::begin_capture || use == ApiUse::end_capture) {
      told.edges.push_back({call.thread_id, unknown_stream, call.start_ns, call.end_ns, call.result,
                            use == ApiUse::begin_capture});
    }
    if (use != ApiUse::work || call.result != 0) return;
    if (call.start_ns < begin_ns || call.start_ns >= end_ns) return;
    told.launches.push_back({call.thread_id, call.correlation, call.start_ns, call.end_ns});
  });
  return told;
}

// CUPTI's ids count up, and begin anew after 2^32.
bool is_older(std::uint32_t id, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(id - other) < 0;
}

class CorrelationSet {
 public:
  CorrelationSet(std::uint32_t first, std::uint32_t last)
      : first_(first), bits_(std::size_t{last - first} + 1, false) {}
  void add(std::uint32_t id) {
    const std::uint32_t place = id - first_;
    if (place < bits_.size()) bits_[place] = true;
  }
  // Also what lies beyond, in a damaged ring: nothing is known of it.
  bool has(std::uint32_t id) const {
    const std::uint32_t place = id - first_;
    return place >= bits_.size() || bits_[place];
  }

 private:
  std::uint32_t first_;
  std::vector<bool> bits_;
};

using event::Layout;

bool is_transfer(Layout layout) noexcept {
  return layout == Layout::copy || layout == Layout::peer_copy || layout == Layout::set;
}

bool names_stream(Layout layout) noexcept {
  return layout == Layout::launch || is_transfer(layout) || layout == Layout::graph ||
         layout == Layout::stream;
}

bool is_work(const event::Record& record) noexcept {
  return record.result == 0 && (record.layout == Layout::launch || is_transfer(record.layout));
}

// What has arrived is taken out.
void leave_those_without_work(const ring::Ring& ring, std::vector<Launch>& launches) {
  if (launches.empty()) return;
  const auto [first, last] = std::minmax_element(
      launches.begin(), launches.end(),
      [](const Launch& a, const Launch& b) { return is_older(a.correlation, b.correlation); });
  // 2^28 calls apart (or a damaged ring): not worth 32 MiB and more.
  constexpr std::uint32_t widest = std::uint32_t{1} << 28;
  if (last->correlation - first->correlation >= widest) return launches.clear();
  CorrelationSet arrived(first->correlation, last->correlation);
  for_each_record(ring, [&](const event::Record& record, const ring::Chunk&) {
    if (record.layout != event::Layout::device_work) return;
    arrived.add(event::device_work_of(record).correlation);
  });
  std::erase_if(launches, [&](const Launch& launch) { return arrived.has(launch.correlation); });
}

// Our own record of a call, for what CUPTI does not tell: the stream, and how much.
struct HostCall {
  std::uint32_t thread_id;
  std::int64_t begin_ns, end_ns;
  std::uint64_t stream;
  bool is_empty;  // copies or sets nothing, and the device is told nothing
};

class HostCalls {
 public:
  HostCalls(const ring::Ring& ring, const event::TickConverter& clock, const Told& told) {
    const auto launches = std::minmax_element(
        told.launches.begin(), told.launches.end(),
        [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
    for_each_record(ring, [&](const event::Record& record, const ring::Chunk& chunk) {
      const bool is_empty = is_transfer(record.layout) && record.args[2] == 0;
      // Streams matter where some were captured.
      if (!is_empty && (told.edges.empty() || !names_stream(record.layout))) return;
      const std::uint64_t end = record.end_ticks.load(std::memory_order_relaxed);
      if (end == 0) return;
      const HostCall call{chunk.thread_id.load(std::memory_order_relaxed),
                          clock.realtime_ns(record.begin_ticks.load(std::memory_order_relaxed)),
                          clock.realtime_ns(end), stream_of_handle(record.args[3]), is_empty};
      const bool is_of_launch =
          call.begin_ns <= launches.second->end_ns && call.end_ns >= launches.first->start_ns;
      if (is_of_launch || record.layout == Layout::stream) calls_.push_back(call);
    });
    std::sort(calls_.begin(), calls_.end(), begins_earlier);
  }

  // The one of that thread in whose time this is; null: none.
  const HostCall* find(std::uint32_t thread_id, std::int64_t at_ns) const {
    const auto after = std::upper_bound(calls_.begin(), calls_.end(),
                                        HostCall{thread_id, at_ns, 0, 0, false}, begins_earlier);
    if (after == calls_.begin()) return nullptr;
    const HostCall& call = *std::prev(after);
    return call.thread_id == thread_id && at_ns < call.end_ns ? &call : nullptr;
  }

 private:
  static bool begins_earlier(const HostCall& a, const HostCall& b) noexcept {
    return a.thread_id != b.thread_id ? a.thread_id < b.thread_id : a.begin_ns < b.begin_ns;
  }

  std::vector<HostCall> calls_;
};

// Of one thread, in nanoseconds; 0: none.
struct Latest {
  std::int64_t called = 0;  // the middle of the last call that we recorded
  std::int64_t told = 0;    // the end of the last one that CUPTI told of
};

}  // namespace

std::uint64_t outstanding_launches(const ring::Ring& ring, const event::TickConverter& clock,
                                   std::int64_t begin_ns, std::int64_t end_ns) {
  Told told = calls_told(ring, begin_ns, end_ns);
  leave_those_without_work(ring, told.launches);
  if (told.launches.empty()) return 0;
  const HostCalls host_calls(ring, clock, told);
  for (CaptureEdge& edge : told.edges) {
    const std::int64_t middle_ns = edge.begin_ns + (edge.end_ns - edge.begin_ns) / 2;
    const HostCall* host = host_calls.find(edge.thread, middle_ns);
    if (host != nullptr) edge.stream = host->stream;
  }
  const CaptureSpans captures(std::move(told.edges));
  return static_cast<std::uint64_t>(
      std::count_if(told.launches.begin(), told.launches.end(), [&](const Launch& launch) {
        const HostCall* host = host_calls.find(launch.thread_id, launch.middle_ns());
        const std::uint64_t stream = host != nullptr ? host->stream : unknown_stream;
        return !(host != nullptr && host->is_empty) &&
               !captures.hold(launch.thread_id, stream, launch.start_ns);
      }));
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
