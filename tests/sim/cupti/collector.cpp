#include "tests/sim/cupti/collector.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tests/sim/cupti/account.hpp"
#include "tests/sim/cupti/buffers.hpp"
#include "tests/sim/cupti/cbids.hpp"
#include "tests/sim/cupti/device_entries.hpp"
#include "tests/sim/cupti/handles.hpp"
#include "tests/sim/cupti/host_entries.hpp"
#include "tests/sim/cupti/kinds.hpp"
#include "tests/sim/cupti/subscriber.hpp"
#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cupti {
namespace {

using activity::DeviceWork;
using activity::DeviceWorkPtr;

using ExternalStacks = std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>>;

ExternalStacks& external_stacks() {
  static thread_local auto* stacks = new ExternalStacks;
  return *stacks;
}

bool wants_kernel_kind(CUpti_ActivityKind kind, const DeviceWork& work) {
  return kinds::enabled(kind, work.context);
}

// The kind under which this work is to be shown now; INVALID for none.
CUpti_ActivityKind wanted_kind(const DeviceWork& work) {
  const CUpti_ActivityKind kind = kind_of(work);
  if (kind == CUPTI_ACTIVITY_KIND_INVALID) {
    return kind;
  }
  if (work.graph != 0 && wants_kernel_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, work)) {
    return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  }
  if (wants_kernel_kind(kind, work)) {
    return kind;
  }
  const bool serial = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
                      wants_kernel_kind(CUPTI_ACTIVITY_KIND_KERNEL, work);
  return serial ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_INVALID;
}

}  // namespace

Collector& Collector::get() {
  static auto* instance = [] {
    auto* made = new Collector;
    activity::add(*made);
    pthread_atfork(nullptr, nullptr, [] {
      kinds::forget();
      subscriber::forget();
    });
    return made;
  }();
  return *instance;
}

void Collector::entered(const activity::Api& api) {
  subscriber::api_callback(api, cbid_of(api), CUPTI_API_ENTER);
}

void Collector::left(const activity::Api& api) {
  if (kinds::any()) {
    if (kinds::enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
      std::lock_guard lock(mutex_);
      if (Item* graph = open_graph(api.correlation)) {
        graph->complete = true;
      }
    }
    write_host_records(api);
    if (script().cupti.requests_in_launches) {
      Buffers::get().reserve(waiting_bytes());
    }
  }
  subscriber::api_callback(api, cbid_of(api), CUPTI_API_EXIT);
}

void Collector::write_host_records(const activity::Api& api) {
  Buffers& buffers = Buffers::get();
  const std::uint32_t cbid = cbid_of(api);
  if (kinds::wants_call(api.domain, cbid, api.begin_ns)) {
    if (kinds::enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
      for (const auto& [kind, ids] : external_stacks()) {
        if (!ids.empty()) {
          buffers.append(external_entry(kind, ids.back(), api.correlation));
        }
      }
    }
    buffers.append(api_entry(api, cbid));
  }
  if (kinds::enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) {
    if (const auto entry = synchronization_entry(api, current_context())) {
      buffers.append(*entry);
    }
  }
  if (kinds::enabled(CUPTI_ACTIVITY_KIND_MEMORY2)) {
    if (const auto entry = memory_entry(api, current_device_id(), current_context())) {
      buffers.append(*entry);
    }
  }
}

void Collector::launched(const DeviceWorkPtr& work) {
  const CUpti_ActivityKind kind = wanted_kind(*work);
  if (kind == CUPTI_ACTIVITY_KIND_INVALID) {
    return;
  }
  set_state(*work, CuptiState::pending);
  std::lock_guard lock(mutex_);
  const bool of_graph = kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  if (Item* graph = of_graph ? open_graph(work->correlation) : nullptr) {
    graph->works.push_back(work);
  } else {
    items_.push_back({{work}, kind, !of_graph});
  }
}

Collector::Item* Collector::open_graph(std::uint32_t correlation) {
  const auto found = std::find_if(items_.rbegin(), items_.rend(), [=](const Item& item) {
    return !item.complete && item.works.front()->correlation == correlation;
  });
  return found == items_.rend() ? nullptr : &*found;
}

void Collector::stream_made(std::uint32_t context, std::uint32_t stream, int priority) {
  if (kinds::enabled(CUPTI_ACTIVITY_KIND_STREAM)) {
    Buffers::get().append(stream_entry(context, stream, priority));
  }
  subscriber::stream_made(context, stream);
}

void Collector::context_ending(std::uint32_t context, bool announced) {
  if (announced) {
    subscriber::context_ending(context);
  }
  std::vector<Item> lost;
  {
    std::lock_guard lock(mutex_);
    const auto gone = std::stable_partition(items_.begin(), items_.end(), [=](const Item& item) {
      return item.works.front()->context != context;
    });
    std::move(gone, items_.end(), std::back_inserter(lost));
    items_.erase(gone, items_.end());
  }
  for (const Item& item : lost) {
    account().lost.fetch_add(1);
    for (const DeviceWorkPtr& work : item.works) {
      set_state(*work, CuptiState::lost);
    }
  }
  Buffers::get().forget_context(context);
}

bool Collector::over(const Item& item, std::int64_t time_ns) {
  return item.complete &&
         std::all_of(item.works.begin(), item.works.end(), [=](const DeviceWorkPtr& work) {
           return work->resolved.load(std::memory_order_acquire) && work->over_ns <= time_ns;
         });
}

void Collector::write(const Item& item, bool over) {
  if (item.kind != CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
    return write_work(item, over);
  }
  Buffers::get().append(graph_entry(item.works, over));
}

void Collector::write_work(const Item& item, bool over) {
  Entry entry = work_entry(item.works.front(), item.kind, over);
  untimed_debt_ += over ? script().cupti.untimed_share : 0;
  if (untimed_debt_ >= 1) {
    untimed_debt_ -= 1;
    takes_both_ = !takes_both_;
    take_times(entry, takes_both_);
  }
  Buffers::get().append(entry);
}

void Collector::collect(bool forced) {
  std::lock_guard collecting(collecting_);
  std::vector<Item> due;
  std::vector<Item> unfinished;
  {
    const std::int64_t time_ns = now_ns();
    std::lock_guard lock(mutex_);
    std::deque<Item> kept;
    for (Item& item : items_) {
      if (over(item, time_ns)) {
        due.push_back(std::move(item));
      } else if (forced) {
        unfinished.push_back(std::move(item));
      } else {
        kept.push_back(std::move(item));
      }
    }
    items_.swap(kept);
  }
  for (const Item& item : due) {
    write(item, true);
  }
  for (const Item& item : unfinished) {
    write(item, false);
  }
}

bool Collector::waiting() {
  std::lock_guard lock(mutex_);
  return !items_.empty();
}

std::size_t Collector::waiting_bytes() {
  constexpr std::size_t spare = 4096;  // for the next call's own records
  std::lock_guard lock(mutex_);
  return items_.size() * record_bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) + spare;
}

void Collector::push_external(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  external_stacks()[kind].push_back(id);
}

bool Collector::pop_external(CUpti_ExternalCorrelationKind kind, std::uint64_t& id) {
  auto& stack = external_stacks()[kind];
  if (stack.empty()) {
    return false;
  }
  id = stack.back();
  stack.pop_back();
  return true;
}

}  // namespace simgpu::cupti
