#include "agent/drain/device_events.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "agent/drain/correlation_table.hpp"
#include "agent/drain/device_coverage.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/timed_calls.hpp"
#include "agent/ring/device_drops.hpp"

namespace traceagent::drain {

using event::DeviceKind;
using event::DeviceWork;
using event::Record;

namespace {

// Unique over the ranks of a merged file, and below 2^53, which is where doubles end.
constexpr unsigned flow_pid_shift = 36;
constexpr std::uint64_t flow_pid_mask = 0x1ffff;

CorrelationTable table_of(const std::vector<Launch>& launches) {
  CorrelationTable table(launches.size());
  for (std::uint32_t i = 0; i < launches.size(); ++i) {
    table.add(event::api_call_of(*launches[i].api).correlation, i);
  }
  return table;
}

// The oldest of the window's calls, or the latest; 0: none.
template <class IsBetter>
std::uint32_t best_in_window(const std::vector<Launch>& launches, IsBetter&& is_better) {
  std::uint32_t best = 0;
  for (const Launch& launch : launches) {
    const std::uint32_t id = event::api_call_of(*launch.api).correlation;
    if (launch.when == When::in_window && (best == 0 || is_better(id, best))) best = id;
  }
  return best;
}

// What is older than all calls of the window came before them. 0 where that cannot be told, since
// calls may have been lost.
std::uint32_t first_in_window(const ring::Ring& ring, const std::vector<Launch>& launches) {
  constexpr auto overwritten = static_cast<std::size_t>(ring::DropCause::overwritten);
  if (ring.header().dropped[overwritten].load(std::memory_order_relaxed) != 0) return 0;
  if (ring::has_lost_device_calls(ring)) return 0;
  return best_in_window(launches, is_older);
}

bool is_of_graph(const ring::Ring& ring, const DeviceWork& work) noexcept {
  if (work.kind == DeviceKind::kernel) return work.quantity != 0;
  if (work.kind > DeviceKind::set || work.facts == 0) return false;
  return ring.name(work.facts).find("\"graph node id\"") != std::string_view::npos;
}

}  // namespace

DeviceEvents::DeviceEvents(const ring::Ring& ring, const ring::Window& window,
                           const event::TickConverter& clock, std::vector<ThreadEvents>& threads,
                           const CollectivePlans& plans)
    : plans_(plans),
      nccl_kernels_(ring),
      lane_names_(ring),
      flow_bits_((static_cast<std::uint64_t>(ring.header().identity.trace_pid) & flow_pid_mask)
                 << flow_pid_shift) {
  const WindowEdges edges(ring, clock, window);
  const DeviceRecords records =
      collect_device(ring, window.begin_ticks.load(std::memory_order_relaxed));
  if (records.empty() && !is_recorded_by_cupti(ring)) return;
  launches_ = match_launches(ring, records, edges, clock, threads);
  works_of_launch_.resize(launches_.size());
  arrows_of_threads_.resize(threads.size());
  add_work(ring, window, edges, records);
  add_timed(ring, records, clock, threads);
  nccl_kernels_.find_calls(window, clock, threads, plans_, launches_);
  add_nccl_calls(ring, clock, threads);
  place_slices(threads);
  add_calls();
  sort_arrows();
  match_ = count_matches(ring, window, clock, threads, launches_, works_of_launch_, stream_lanes_,
                         slices_);
  match_.nccl_kernels_without_call = nccl_kernels_.without_call();
}

// Whether the window is the one that shows the work, by its launch.
bool DeviceEvents::belongs(const WindowEdges& edges, const DeviceWork& work, std::uint32_t launch,
                           DeviceSlice& slice) const noexcept {
  slice.launch_seen = launch != no_index;
  if (launch != no_index) {
    const When when = launches_[launch].when;
    if (when != When::before) return when == When::in_window;
    slice.launched_before = true;
  }
  if (!edges.is_first_to_overlap(work.start_ns, slice.end_ns)) return false;
  slice.launched_before |= work.start_ns < edges.begin_ns();
  return true;
}

namespace {

// A wait names its context alone, and CUPTI may tell of it before any work there has told which
// device that is: asked once all is collected.
class ContextDevices {
 public:
  explicit ContextDevices(const std::vector<const Record*>& records) {
    for (const Record* record : records) {
      const DeviceWork work = event::device_work_of(*record);
      if (!names_device(work.kind) || (work.context == latest_ && !devices_.empty())) continue;
      latest_ = work.context;
      devices_[work.context] = work.device;
    }
  }
  std::uint16_t of(const DeviceWork& work) const {
    const auto found = devices_.find(work.context);
    const bool is_told = names_device(work.kind) || found == devices_.end();
    return is_told ? work.device : found->second;
  }

 private:
  static bool names_device(DeviceKind kind) noexcept { return kind <= DeviceKind::set; }
  std::unordered_map<std::uint32_t, std::uint16_t> devices_;
  std::uint32_t latest_ = 0;
};

}  // namespace

void DeviceEvents::add_work(const ring::Ring& ring, const ring::Window& window,
                            const WindowEdges& edges, const DeviceRecords& records) {
  const CorrelationTable table = table_of(launches_);
  const std::uint32_t first_launch = first_in_window(ring, launches_);
  const std::uint32_t told = correlation_told(ring, window);
  const ContextDevices devices(records.work);
  slices_.reserve(records.work.size() + records.timed.size());
  for (const Record* record : records.work) {
    const DeviceWork work = event::device_work_of(*record);
    std::uint32_t launch = table.find(work.correlation);
    DeviceSlice slice{};
    if (launch != no_index) {
      const std::uint32_t outer = outermost(launches_, launch);
      slice.names_wrong_call = is_of_graph(ring, work) &&
                               !launches_graph(ring, launches_[launch]) &&
                               !launches_graph(ring, launches_[outer]);
      launch = slice.names_wrong_call ? no_index : outer;
    }
    slice.record = record;
    slice.start_ns = work.start_ns;
    slice.end_ns = std::max(work.start_ns, work.end_ns);
    slice.nccl = no_index;
    slice.device = devices.of(work);
    if (launch != no_index) slice.thread = launches_[launch].thread;
    note_lane(work, slice, launch);
    // Its call was told of, and given back, long ago.
    const bool has_lost_call =
        launch == no_index && work.correlation != 0 && !slice.names_wrong_call;
    slice.launched_before =
        has_lost_call && first_launch != 0 && is_older(work.correlation, first_launch);
    const bool was_late = has_lost_call && told != 0 && !is_older(told, work.correlation);
    if (!was_late && belongs(edges, work, launch, slice)) {
      slice.correlation = ring::correlation_of(ring, *record);
      if (launch != no_index) tie(ring, launch, slice);
      slices_.push_back(slice);
    } else if (slice.end_ns > edges.begin_ns() && slice.start_ns < edges.end_ns()) {
      others_.push_back(slice);
    }
  }
}

// Of other windows' work too: it lies on the same lanes.
void DeviceEvents::note_lane(const DeviceWork& work, const DeviceSlice& slice,
                             std::uint32_t launch) {
  if (work.kind > DeviceKind::set && work.kind != DeviceKind::graph) return;
  const LaneKey lane{slice.device, work.context, work.stream, LaneKind::stream};
  if (work.kind == DeviceKind::kernel) lane_names_.note_kernel(lane, work.name);
  const Launch* const from = launch != no_index ? &launches_[launch] : nullptr;
  stream_lanes_.note(from, lane);
  if (from != nullptr && from->host_record != nullptr) {
    lane_names_.note_call(lane, *from->host_record);
  }
}

// The arrow from the host's event. One that launches several has an arrow to each.
void DeviceEvents::tie(const ring::Ring& ring, std::uint32_t launch, DeviceSlice& slice) {
  const Launch& from = launches_[launch];
  slice.nccl = from.nccl;
  const std::uint64_t own = slice.correlation;
  slice.correlation =
      ring::correlation_of(ring, from.host_record != nullptr ? *from.host_record : *from.api);
  const auto kind = static_cast<DeviceKind>(slice.record->flags);
  if (kind == DeviceKind::overhead || kind == DeviceKind::memory) return;
  const bool is_first = ++works_of_launch_[launch] == 1;
  if (kind == DeviceKind::kernel) {
    nccl_kernels_.note(static_cast<std::uint32_t>(slices_.size()), launch,
                       event::device_work_of(*slice.record).name);
  }
  if (from.when != When::in_window) return;
  // An arrow back in time, by clocks that disagree, is none to its readers.
  if (slice.start_ns < from.shown_ns()) return;
  slice.flow = (is_first ? slice.correlation : own) | flow_bits_;
  const auto index = static_cast<std::uint32_t>(slices_.size());
  if (from.host != no_index) {
    arrows_of_threads_[from.thread].push_back({from.host, index});
  } else {
    arrows_of_launches_.push_back({launch, index});
  }
}

void DeviceEvents::add_timed(const ring::Ring& ring, const DeviceRecords& records,
                             const event::TickConverter& clock,
                             const std::vector<ThreadEvents>& threads) {
  if (records.timed.empty()) return;
  const TimedCalls calls(ring, threads);
  std::unordered_set<std::uint64_t> has_arrow;
  for (const Record* record : records.timed) {
    const event::TimedByEvent timed = event::timed_by_event_of(*record);
    const auto call = calls.find(timed.host_record);
    if (!call) continue;  // another window's
    DeviceSlice slice{};
    slice.record = record;
    slice.start_ns = timed.start_ns;
    slice.end_ns = std::max(timed.start_ns, timed.end_ns);
    slice.correlation = timed.host_record;
    slice.thread = call->thread;
    slice.nccl = call->index;
    slice.device = timed.device;
    slice.launch_seen = true;
    // A group's end is timed on each of its streams, and has one id for an arrow.
    const std::int64_t begin_ns = clock.realtime_ns(
        threads[call->thread].records[call->index]->begin_ticks.load(std::memory_order_relaxed));
    if (slice.start_ns >= begin_ns && has_arrow.insert(timed.host_record).second) {
      slice.flow = timed.host_record | flow_bits_;
      arrows_of_threads_[call->thread].push_back(
          {call->index, static_cast<std::uint32_t>(slices_.size())});
    }
    slices_.push_back(slice);
  }
}

// From the first call of a kernel that a thread of NCCL's launched: on that thread no slice says
// who asked for it.
void DeviceEvents::add_nccl_calls(const ring::Ring& ring, const event::TickConverter& clock,
                                  const std::vector<ThreadEvents>& threads) {
  std::unordered_map<const Record*, std::uint32_t> slice_of;
  for (const NcclKernel& kernel : nccl_kernels_.all()) {
    if (kernel.by_own_thread && !kernel.calls.empty()) {
      slice_of.emplace(kernel.calls.front(), kernel.slice);
    }
  }
  if (slice_of.empty()) return;
  for (std::uint32_t thread = 0; thread < threads.size(); ++thread) {
    const auto& records = threads[thread].records;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      if (records[i]->layout != event::Layout::collective) continue;
      const auto found = slice_of.find(records[i]);
      if (found == slice_of.end()) continue;
      DeviceSlice& slice = slices_[found->second];
      const std::uint64_t flow = ring::correlation_of(ring, *slice.record) | flow_bits_;
      const std::int64_t begin_ns =
          clock.realtime_ns(records[i]->begin_ticks.load(std::memory_order_relaxed));
      // The launch's own arrow has this number where the launch has several kernels.
      if (flow == slice.flow || slice.start_ns < begin_ns) continue;
      slice.call_flow = flow;
      if (arrows_of_threads_.size() <= thread) arrows_of_threads_.resize(thread + 1);
      arrows_of_threads_[thread].push_back({i, found->second, true});
    }
  }
}

LaneKey DeviceEvents::lane_of(const DeviceSlice& slice,
                              const std::vector<ThreadEvents>& threads) const {
  if (slice.record->layout == event::Layout::timed_by_event) {
    const event::TimedByEvent timed = event::timed_by_event_of(*slice.record);
    return {timed.device, 0, timed.stream, LaneKind::timed};
  }
  const DeviceWork work = event::device_work_of(*slice.record);
  switch (work.kind) {
    case DeviceKind::synchronise:
      return {slice.device, 0, slice.launch_seen ? threads[slice.thread].thread_id : 0,
              LaneKind::waits};
    case DeviceKind::memory:
      return {slice.device, work.context, 0, LaneKind::memory};
    case DeviceKind::overhead:
      return {slice.device, 0, 0, LaneKind::overhead};
    default:
      return {slice.device, work.context, work.stream, LaneKind::stream};
  }
}

// Work of other windows within the time of this one has its place too: in the merged file they
// share the lanes.
void DeviceEvents::place_slices(const std::vector<ThreadEvents>& threads) {
  std::vector<DeviceSlice*> order;
  order.reserve(slices_.size() + others_.size());
  for (DeviceSlice& slice : slices_) order.push_back(&slice);
  for (DeviceSlice& slice : others_) order.push_back(&slice);
  std::stable_sort(order.begin(), order.end(), [](const DeviceSlice* a, const DeviceSlice* b) {
    return a->start_ns < b->start_ns;
  });
  items_.reserve(slices_.size());
  const DeviceSlice* const first = slices_.data();
  for (DeviceSlice* slice : order) {
    const LaneKey key = lane_of(*slice, threads);
    const bool is_own = slice >= first && slice < first + slices_.size();
    if (key.kind != LaneKind::memory) {
      slice->tid = lanes_.place(key, slice->start_ns, slice->end_ns);
    } else if (is_own) {
      slice->tid = lanes_.tid(key);
    }
    if (is_own) {
      items_.push_back({slice->start_ns, static_cast<std::uint32_t>(slice - first), Kind::slice});
    }
  }
  others_ = {};
}

// Calls that no door of ours saw are events of their own.
void DeviceEvents::add_calls() {
  const std::size_t slices = items_.size();
  for (std::uint32_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    if (launch.host_record != nullptr || launch.outer != no_index) continue;
    if (launch.when == When::in_window) items_.push_back({launch.start_ns, i, Kind::call});
  }
  const auto earlier = [](const Item& a, const Item& b) {
    return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : a.kind < b.kind;
  };
  const auto middle = items_.begin() + static_cast<std::ptrdiff_t>(slices);
  std::stable_sort(middle, items_.end(), earlier);
  std::inplace_merge(items_.begin(), middle, items_.end(), earlier);
}

void DeviceEvents::sort_arrows() {
  const auto earlier = [](const Arrow& a, const Arrow& b) { return a.host < b.host; };
  const auto sort = [&](std::vector<Arrow>& arrows) {
    if (!std::is_sorted(arrows.begin(), arrows.end(), earlier)) {
      std::stable_sort(arrows.begin(), arrows.end(), earlier);
    }
  };
  for (std::vector<Arrow>& arrows : arrows_of_threads_) sort(arrows);
  sort(arrows_of_launches_);
}

std::span<const Arrow> DeviceEvents::arrows_of_thread(std::size_t thread) const noexcept {
  return thread < arrows_of_threads_.size() ? arrows_of_threads_[thread] : std::span<const Arrow>{};
}

std::span<const Arrow> DeviceEvents::arrows_of_launch(std::uint32_t launch) const noexcept {
  const auto [begin, end] =
      std::equal_range(arrows_of_launches_.begin(), arrows_of_launches_.end(), Arrow{launch, 0},
                       [](const Arrow& a, const Arrow& b) { return a.host < b.host; });
  return {begin, end};
}

std::uint32_t DeviceEvents::last_correlation() const noexcept {
  return best_in_window(launches_,
                        [](std::uint32_t id, std::uint32_t best) { return is_older(best, id); });
}

std::int64_t DeviceEvents::earliest_ns() const noexcept {
  return items_.empty() ? INT64_MAX : items_.front().ts_ns;
}

}  // namespace traceagent::drain
