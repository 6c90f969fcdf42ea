#include "agent/drain/device_coverage.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "agent/api/function.hpp"
#include "agent/drain/captures.hpp"
#include "agent/drain/device_events.hpp"
#include "agent/ring/device_drops.hpp"

namespace traceagent::drain {

using event::DeviceKind;
using event::Layout;
using event::Record;
using ring::DropCause;

namespace {

bool asks_for_work(std::string_view name) noexcept {
  const auto has = [name](std::string_view part) { return name.find(part) != name.npos; };
  if (has("Launch")) return !has("HostFunc");
  return (has("Memcpy") || has("Memset")) && !has("Graph");
}

// By the name's offset: there are few names and many calls.
class AskingNames {
 public:
  explicit AskingNames(const ring::Ring& ring) : ring_(ring) {}
  bool operator()(std::uint32_t name) {
    const auto [found, is_new] = asks_.try_emplace(name);
    if (is_new) found->second = asks_for_work(ring_.name(name));
    return found->second;
  }

 private:
  const ring::Ring& ring_;
  std::unordered_map<std::uint32_t, bool> asks_;
};

bool has_size(Layout layout) noexcept {
  return layout == Layout::copy || layout == Layout::peer_copy || layout == Layout::set;
}

using AskingFunctions = std::array<bool, api::function_count>;

const AskingFunctions& asking_functions() {
  static const AskingFunctions asking = [] {
    AskingFunctions made{};
    for (std::size_t i = 0; i < made.size(); ++i) {
      const api::FunctionName& name = api::name_of(static_cast<api::Function>(i));
      made[i] = name.category.starts_with("cuda_") && asks_for_work(name.shown);
    }
    return made;
  }();
  return asking;
}

bool asks_for_work(const Record& record, const AskingFunctions& asking) noexcept {
  return record.result == 0 && record.function < asking.size() && asking[record.function] &&
         record.end_ticks.load(std::memory_order_acquire) != 0;
}

// Nothing is copied, and the device told nothing.
bool is_empty(const Record* host) noexcept {
  return host != nullptr && has_size(host->layout) && host->args[2] == 0;
}

// Our own record that names the launch's stream; of what NCCL launches it may be the collective's.
const Record* call_of(const Launch& launch) noexcept {
  return launch.host_record != nullptr ? launch.host_record : launch.nccl_record;
}

std::uint64_t lost_on_the_way(const ring::Ring& ring, const ring::Window& window) noexcept {
  const auto dropped = ring::dropped_in(ring, window);
  std::uint64_t lost = dropped[static_cast<std::size_t>(DropCause::overwritten)];
  for (const DropCause cause : ring::lost_device_records) {
    lost += dropped[static_cast<std::size_t>(cause)];
  }
  return lost;
}

// What CUPTI could not time was work and no call. Of calls before the window those that found no
// room are counted nowhere, but in a full ring there were such.
bool may_have_lost_calls(const ring::Ring& ring, const ring::Window& window) noexcept {
  const auto dropped = ring::dropped_in(ring, window);
  const auto of = [&](DropCause cause) { return dropped[static_cast<std::size_t>(cause)]; };
  return lost_on_the_way(ring, window) != of(DropCause::device_untimed) ||
         of(DropCause::ring_full) != 0 || ring::has_lost_device_calls(ring);
}

class Counter {
 public:
  Counter(const ring::Ring& ring, const ring::Window& window, const event::TickConverter& clock,
          const std::vector<ThreadEvents>& threads, const std::vector<Launch>& launches,
          const std::vector<std::uint32_t>& works, const StreamLanes& lanes)
      : ring_(ring),
        clock_(clock),
        threads_(threads),
        launches_(launches),
        works_(works),
        lanes_(lanes),
        lost_(lost_on_the_way(ring, window)),
        has_lost_any_(ring::has_lost_device_records(ring)),
        may_have_lost_calls_(may_have_lost_calls(ring, window)),
        since_ns_(ring.header().device.recording_since_ns.load(std::memory_order_relaxed)),
        until_ns_(ring.header().device.recording_until_ns.load(std::memory_order_relaxed)),
        delivered_ns_(ring.header().device.delivered_until_ns.load(std::memory_order_relaxed)),
        asks_(ring),
        captures_(ring, threads, launches, clock) {}

  // The others need what this finds.
  void note_launches();
  void count_launches();
  void count_unseen_calls();
  void count_work(const std::vector<DeviceSlice>& slices);
  DeviceMatch take() { return std::move(match_); }

 private:
  const char* cause_of(const Launch& launch);
  bool is_passed(const Launch& launch) const;
  const char* cause_without_call(const DeviceSlice& slice) const;
  // One record more that the drops may explain.
  bool explain_by_loss() noexcept { return lost_ != 0 && lost_-- != 0; }
  const char* cause_not_found() const noexcept {
    return has_lost_any_ ? cause_perhaps_lost : cause_unknown;
  }
  bool is_after_recording(std::int64_t at_ns) const noexcept {
    return until_ns_ != 0 && at_ns >= until_ns_;
  }

  const ring::Ring& ring_;
  const event::TickConverter& clock_;
  const std::vector<ThreadEvents>& threads_;
  const std::vector<Launch>& launches_;
  const std::vector<std::uint32_t>& works_;
  const StreamLanes& lanes_;
  std::uint64_t lost_;
  const bool has_lost_any_;  // in any window: of some it is not known in which
  const bool may_have_lost_calls_;
  const std::int64_t since_ns_;      // 0: CUPTI could not be had
  const std::int64_t until_ns_;      // 0: CUPTI is on
  const std::int64_t delivered_ns_;  // what ended later may not have been told yet; 0: all
  AskingNames asks_;
  Captures captures_;
  DeviceMatch match_;
  bool has_wrong_calls_ = false;  // work that may be any graph launch's
  std::int64_t first_call_ns_ = INT64_MAX;
  std::int64_t first_with_work_ns_ = INT64_MAX;           // where none has come: later than all
  std::map<NamedStream, std::int64_t> latest_with_work_;  // the latest launch whose work has come
};

void Counter::note_launches() {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    first_call_ns_ = std::min(first_call_ns_, launch.start_ns);
    if (works_[i] == 0) continue;
    first_with_work_ns_ = std::min(first_with_work_ns_, launch.start_ns);
    if (launch.host_record == nullptr) continue;
    std::int64_t& latest = latest_with_work_[named_stream(launch)];
    latest = std::max(latest, launch.start_ns);
  }
}

// A stream works in order: what was launched later is done, so this is not to come.
bool Counter::is_passed(const Launch& launch) const {
  const NamedStream stream = named_stream(launch);
  const auto latest = latest_with_work_.find(stream);
  return latest != latest_with_work_.end() && latest->second > launch.start_ns &&
         lanes_.is_one(stream);
}

const char* Counter::cause_of(const Launch& launch) {
  if (is_empty(launch.host_record) ||
      captures_.hold(launch.thread, call_of(launch), launch.start_ns)) {
    return cause_no_work;
  }
  // Its call was recorded already, its kind of work not yet. Where CUPTI is off by now, the first
  // work that came tells from when on it was recorded.
  const std::int64_t since_ns = since_ns_ != 0 ? since_ns_ : first_with_work_ns_;
  if (launch.start_ns < since_ns) return cause_before_recording;
  if (is_after_recording(launch.start_ns)) return cause_after_recording;
  if (explain_by_loss()) return cause_lost;
  if (has_wrong_calls_ && launches_graph(ring_, launch)) return cause_wrong_call;
  if (launch.host_record == nullptr) return cause_late;
  return is_passed(launch) ? cause_not_found() : cause_late;
}

void Counter::count_launches() {
  std::unordered_map<std::uint32_t, std::uint64_t> only_cupti;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const Launch& launch = launches_[i];
    if (launch.outer != no_index || launch.when != When::in_window) continue;
    const event::ApiCall call = event::api_call_of(*launch.api);
    if (launch.host_record == nullptr) ++only_cupti[call.name];
    if (call.result != 0 || !asks_(call.name)) continue;
    ++match_.launches;
    if (works_[i] == 0) ++match_.launches_without_work[cause_of(launch)];
  }
  // A damaged ring's records may each have another text, of 16 KiB.
  constexpr std::size_t longest_function_name = 128;
  for (const auto& [name, count] : only_cupti) {
    const std::string_view function = ring_.name(name).substr(0, longest_function_name);
    match_.calls_only_cupti_saw[std::string(function)] += count;
  }
}

// Calls of ours that CUPTI told nothing of.
void Counter::count_unseen_calls() {
  if (!is_recorded_by_cupti(ring_) || match_.is_by_events()) return;
  const AskingFunctions& asking = asking_functions();
  std::vector<std::vector<bool>> is_seen(threads_.size());
  for (std::size_t i = 0; i < threads_.size(); ++i) is_seen[i].resize(threads_[i].records.size());
  for (const Launch& launch : launches_) {
    if (launch.host != no_index) is_seen[launch.thread][launch.host] = true;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    for (std::size_t k = 0; k < threads_[i].records.size(); ++k) {
      const Record& record = *threads_[i].records[k];
      if (is_seen[i][k] || !asks_for_work(record, asking)) continue;
      ++match_.launches;
      const std::int64_t begin_ns =
          clock_.realtime_ns(record.begin_ticks.load(std::memory_order_relaxed));
      const bool is_early = since_ns_ == 0 || begin_ns < since_ns_;
      const std::int64_t end_ns =
          clock_.realtime_ns(record.end_ticks.load(std::memory_order_relaxed));
      // A process that was killed took with it what CUPTI had not handed over.
      const bool is_late = end_ns > delivered_ns_;
      ++match_.launches_without_work[is_early                       ? cause_before_recording
                                     : is_after_recording(begin_ns) ? cause_after_recording
                                     : is_empty(&record) ||
                                             captures_.hold(static_cast<std::uint32_t>(i), &record,
                                                            begin_ns)
                                         ? cause_no_work
                                     : explain_by_loss() ? cause_lost
                                     : is_late           ? cause_late
                                                         : cause_not_found()];
    }
  }
}

const char* Counter::cause_without_call(const DeviceSlice& slice) const {
  if (slice.names_wrong_call) return cause_wrong_call;
  if (slice.launched_before) return cause_before_window;
  if (may_have_lost_calls_) return cause_call_lost;
  return slice.start_ns < first_call_ns_ ? cause_before_recording : cause_unknown;
}

void Counter::count_work(const std::vector<DeviceSlice>& slices) {
  for (const DeviceSlice& slice : slices) {
    if (slice.record->layout == Layout::timed_by_event) ++match_.timed_by_events;
    if (slice.record->layout != Layout::device_work) continue;
    switch (static_cast<DeviceKind>(slice.record->flags)) {
      case DeviceKind::synchronise:
      case DeviceKind::memory:
      case DeviceKind::overhead:
        continue;
      default:
        break;
    }
    ++match_.work;
    has_wrong_calls_ |= slice.names_wrong_call;
    if (slice.launched_before || !slice.launch_seen) {
      ++match_.work_without_launch[cause_without_call(slice)];
    }
  }
}

}  // namespace

bool is_recorded_by_cupti(const ring::Ring& ring) noexcept {
  return ring.header().device.source.load(std::memory_order_relaxed) == ring::DeviceSource::cupti;
}

DeviceMatch count_matches(const ring::Ring& ring, const ring::Window& window,
                          const event::TickConverter& clock,
                          const std::vector<ThreadEvents>& threads,
                          const std::vector<Launch>& launches,
                          const std::vector<std::uint32_t>& works, const StreamLanes& lanes,
                          const std::vector<DeviceSlice>& slices) {
  Counter counter(ring, window, clock, threads, launches, works, lanes);
  counter.note_launches();
  counter.count_work(slices);
  counter.count_launches();
  counter.count_unseen_calls();
  return counter.take();
}

}  // namespace traceagent::drain
