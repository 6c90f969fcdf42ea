#include "agent/drain/launch_match.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "agent/api/function.hpp"
#include "agent/drain/host_spans.hpp"

namespace traceagent::drain {
namespace {

using event::Layout;
using event::Record;

// More than two clocks of one machine differ, less than what lies between two launches mostly.
constexpr std::int64_t clock_slack_ns = 1000;
// Calls this long before the window are no record's of it, by whatever clock.
constexpr std::int64_t margin_ns = 10 * clock_slack_ns;

std::int64_t start_of(const Record* api) noexcept {
  return static_cast<std::int64_t>(api->args[0]);
}
std::int64_t end_of(const Record* api) noexcept {
  return std::max(static_cast<std::int64_t>(api->args[1]), start_of(api));
}

using CallsOfThreads = std::map<std::uint32_t, std::vector<const Record*>>;

// Outer calls before those within them.
bool begins_earlier(const Record* a, const Record* b) noexcept {
  return start_of(a) != start_of(b) ? start_of(a) < start_of(b) : end_of(a) > end_of(b);
}

CallsOfThreads calls_of_threads(const std::vector<const Record*>& api_calls) {
  CallsOfThreads calls;
  std::vector<const Record*>* latest = nullptr;
  std::uint32_t latest_thread = 0;
  for (const Record* api : api_calls) {
    // A thread's calls come in runs.
    if (latest == nullptr || api->detail != latest_thread) latest = &calls[api->detail];
    latest_thread = api->detail;
    latest->push_back(api);
  }
  for (auto& [thread, records] : calls) {
    if (!std::is_sorted(records.begin(), records.end(), begins_earlier)) {
      std::stable_sort(records.begin(), records.end(), begins_earlier);
    }
  }
  return calls;
}

bool is_slice_of_thread(const Record& record) noexcept {
  if (record.layout == Layout::mark) return false;
  return record.layout != Layout::range || (record.flags & event::flag_process_range) == 0;
}

std::vector<HostSpan> spans_of(const ThreadEvents& thread, const DeviceRecords& device,
                               const event::TickConverter& clock) {
  std::vector<HostSpan> spans;
  for (const Straddler& straddler : device.straddlers) {
    if (straddler.thread_id == thread.thread_id && is_slice_of_thread(*straddler.record)) {
      spans.push_back(span_of(*straddler.record, no_index, clock));
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const HostSpan& a, const HostSpan& b) { return a.begin_ns < b.begin_ns; });
  spans.reserve(spans.size() + thread.records.size());
  for (std::uint32_t i = 0; i < thread.records.size(); ++i) {
    const Record& record = *thread.records[i];
    if (is_slice_of_thread(record)) spans.push_back(span_of(record, i, clock));
  }
  return spans;
}

// cudaLaunchKernel of __cudaLaunchKernel_ptsz.
std::string_view plain_name(std::string_view name) noexcept {
  if (name.starts_with("__")) name.remove_prefix(2);
  if (name.ends_with("_ptsz") || name.ends_with("_ptds")) name.remove_suffix(5);
  return name;
}

// One thread's calls, in order.
class ThreadMatch {
 public:
  ThreadMatch(const std::vector<HostSpan>& spans, const WindowEdges& edges, std::uint32_t thread,
              std::vector<Launch>& launches)
      : spans_(spans),
        edges_(edges),
        thread_(thread),
        launches_(launches),
        first_(launches.size()),
        walk_(spans),
        is_taken_(spans.size()) {}

  void add(const Record* api);
  // Calls in no record's middle go to the neighbour of the same name that no other call claims.
  void match_neighbours(const ring::Ring& ring);

 private:
  using Near = std::vector<const HostSpan*>;

  bool is_early(const Launch& launch) const {
    return launch.start_ns < edges_.begin_ns() - margin_ns;
  }
  void find_host(Launch& launch);
  const HostSpan* host_of(const Launch& launch, const Near& near) const;
  void set_host(Launch& launch, const HostSpan& span);
  static void fit(Launch& launch, const Near& near);
  bool may_be(const ring::Ring& ring, const Launch& launch, const HostSpan& span) const;

  const std::vector<HostSpan>& spans_;
  const WindowEdges& edges_;
  const std::uint32_t thread_;
  std::vector<Launch>& launches_;
  const std::size_t first_;
  SpanWalk walk_;
  std::vector<bool> is_taken_;
  std::uint32_t outer_ = no_index;
};

const HostSpan* ThreadMatch::host_of(const Launch& launch, const Near& near) const {
  const std::int64_t middle_ns = launch.start_ns + (launch.end_ns - launch.start_ns) / 2;
  const HostSpan* innermost = nullptr;
  const HostSpan* within = nullptr;
  for (const HostSpan* span : near) {
    if (!span->is_cuda) continue;
    if (span->holds(middle_ns) && (innermost == nullptr || span->begin_ns >= innermost->begin_ns)) {
      innermost = span;
    }
    // The driver door's record of what a static runtime does within this very call.
    if (within == nullptr && span->begin_ns >= launch.start_ns && span->end_ns <= launch.end_ns) {
      within = span;
    }
  }
  return innermost != nullptr ? innermost : within;
}

void ThreadMatch::set_host(Launch& launch, const HostSpan& span) {
  launch.host = span.index;
  launch.host_record = span.record;
  launch.host_begin_ns = span.begin_ns;
  launch.when = edges_.of_ticks(span.record->begin_ticks.load(std::memory_order_relaxed));
  is_taken_[static_cast<std::size_t>(&span - spans_.data())] = true;
}

void ThreadMatch::add(const Record* api) {
  Launch launch{api, start_of(api), end_of(api), thread_};
  const auto index = static_cast<std::uint32_t>(launches_.size());
  if (outer_ != no_index && launch.end_ns <= end_of(launches_[outer_].api)) {
    launch.outer = outer_;
  } else {
    outer_ = index;
  }
  launch.when = edges_.of_moment(launch.start_ns);
  if (!is_early(launch)) find_host(launch);
  launches_.push_back(launch);
}

void ThreadMatch::find_host(Launch& launch) {
  const Near& near =
      walk_.overlapping(launch.start_ns - clock_slack_ns, launch.end_ns + clock_slack_ns);
  const std::int64_t middle_ns = launch.start_ns + (launch.end_ns - launch.start_ns) / 2;
  for (const HostSpan* span : near) {
    if (!span->is_nccl || !span->holds(middle_ns)) continue;
    launch.nccl = span->index;
    launch.nccl_record = span->record;
    break;
  }
  if (const HostSpan* host = host_of(launch, near); host != nullptr) {
    set_host(launch, *host);
  } else {
    fit(launch, near);
  }
}

// Nests the call on its thread's lane where only the clocks' difference makes it stick out.
void ThreadMatch::fit(Launch& launch, const Near& near) {
  const std::int64_t middle_ns = launch.start_ns + (launch.end_ns - launch.start_ns) / 2;
  for (const HostSpan* span : near) {
    std::int64_t start_ns = launch.start_ns, end_ns = launch.end_ns;
    const bool is_within = span->begin_ns <= start_ns && end_ns <= span->end_ns;
    const bool holds_it = start_ns <= span->begin_ns && span->end_ns <= end_ns;
    if (is_within || holds_it || span->end_ns <= start_ns || span->begin_ns >= end_ns) continue;
    if (span->holds(middle_ns)) {
      start_ns = std::max(start_ns, span->begin_ns);
      end_ns = std::min(end_ns, span->end_ns);
    } else if (span->begin_ns > start_ns) {
      end_ns = span->begin_ns;
    } else {
      start_ns = span->end_ns;
    }
    if (start_ns - launch.start_ns > clock_slack_ns || launch.end_ns - end_ns > clock_slack_ns) {
      continue;  // more than the clocks: it spills to a lane of its own
    }
    launch.start_ns = start_ns;
    launch.end_ns = std::max(start_ns, end_ns);
  }
}

bool ThreadMatch::may_be(const ring::Ring& ring, const Launch& launch, const HostSpan& span) const {
  if (!span.is_cuda || is_taken_[static_cast<std::size_t>(&span - spans_.data())]) return false;
  const auto& name = api::name_of(static_cast<api::Function>(span.record->function));
  return plain_name(ring.name(launch.api->extra)) == plain_name(name.shown);
}

void ThreadMatch::match_neighbours(const ring::Ring& ring) {
  SpanWalk walk(spans_);
  for (std::size_t i = first_; i < launches_.size(); ++i) {
    Launch& launch = launches_[i];
    if (launch.host_record != nullptr || launch.outer != no_index || is_early(launch)) continue;
    const std::int64_t start_ns = start_of(launch.api), end_ns = end_of(launch.api);
    const HostSpan* nearest = nullptr;
    std::int64_t least_ns = INT64_MAX;
    for (const HostSpan* span :
         walk.overlapping(start_ns - clock_slack_ns, end_ns + clock_slack_ns)) {
      const std::int64_t off_ns = std::max(span->begin_ns - start_ns, end_ns - span->end_ns);
      if (off_ns < least_ns && may_be(ring, launch, *span)) {
        nearest = span;
        least_ns = off_ns;
      }
    }
    if (nearest != nullptr) set_host(launch, *nearest);
  }
}

}  // namespace

std::vector<Launch> match_launches(const ring::Ring& ring, const DeviceRecords& device,
                                   const WindowEdges& edges, const event::TickConverter& clock,
                                   std::vector<ThreadEvents>& threads) {
  std::vector<Launch> launches;
  launches.reserve(device.api_calls.size());
  std::map<std::uint32_t, std::uint32_t> index_of;
  for (std::uint32_t i = 0; i < threads.size(); ++i) index_of.emplace(threads[i].thread_id, i);
  for (const auto& [thread_id, calls] : calls_of_threads(device.api_calls)) {
    const auto [found, is_new] =
        index_of.try_emplace(thread_id, static_cast<std::uint32_t>(threads.size()));
    if (is_new) threads.push_back({thread_id, {}, {}});
    const std::vector<HostSpan> spans = spans_of(threads[found->second], device, clock);
    ThreadMatch match(spans, edges, found->second, launches);
    for (const Record* api : calls) match.add(api);
    match.match_neighbours(ring);
  }
  return launches;
}

}  // namespace traceagent::drain
