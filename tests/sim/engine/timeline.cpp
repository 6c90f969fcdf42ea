#include "tests/sim/engine/timeline.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu {
namespace {

constexpr std::int64_t poll_ns = 100'000;

void add_predecessor(Operation& operation, const OperationPtr& before) {
  if (before == nullptr) {
    return;
  }
  if (before->resolved) {
    operation.floor_ns = std::max(operation.floor_ns, before->end_ns);
  } else {
    operation.after.push_back(before);
  }
}

Record* claim_device_record(const Work& work, const Stream& stream, std::uint64_t call_number) {
  Record* record = truth::claim();
  if (record == nullptr) {
    return nullptr;
  }
  record->kind = RecordKind::device;
  record->work = work.kind;
  record->number = call_number;
  record->name = work.name;
  record->stream = reinterpret_cast<std::uint64_t>(&stream);
  record->stream_id = stream.id;
  record->device = stream.device;
  record->bytes = work.bytes;
  record->address = work.address;
  record->copy_kind = work.copy_kind;
  record->shared_bytes = work.shared_bytes;
  std::copy_n(work.grid, 3, record->grid);
  std::copy_n(work.block, 3, record->block);
  std::copy_n(work.cluster, 3, record->cluster);
  record->registers = work.registers;
  return record;
}

activity::DeviceWorkPtr activity_of(const Work& work, const Stream& stream, std::uint32_t graph) {
  auto made = std::make_shared<activity::DeviceWork>();
  made->facts = work;
  made->device = static_cast<std::uint32_t>(stream.device);
  made->context = activity::context_of(stream.device);
  made->stream = static_cast<std::uint32_t>(stream.id);
  made->correlation = activity::current_correlation();
  made->graph = graph;
  return made;
}

void note_activity(Record& record, const activity::DeviceWork& work, std::size_t part) {
  record.graph_node = work.facts.graph_node;
  record.graph = work.graph;
  record.correlation = work.correlation;
  record.context = work.context;
  record.part = static_cast<std::uint32_t>(part);
}

void claim_records(Operation& operation, const Work& work, const Stream& stream,
                   std::uint64_t call_number) {
  const std::size_t count = std::max<std::size_t>(operation.parts.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    Record* record = claim_device_record(work, stream, call_number);
    if (record == nullptr) {
      return;
    }
    if (i < operation.parts.size()) {
      operation.parts[i]->describe(*record);
    }
    note_activity(*record, *operation.activity, i);
    operation.activity->records.push_back(record);
    record->state.store(RecordState::open, std::memory_order_release);
    operation.records.push_back(record);
  }
}

void close_records(Operation& operation) {
  const std::int64_t offset_ns = script().clock_offset_ns;
  for (std::size_t i = 0; i < operation.records.size(); ++i) {
    const bool own_end = i < operation.parts.size();
    Record& record = *operation.records[i];
    record.begin_ns = operation.start_ns + offset_ns;
    record.end_ns = (own_end ? *operation.parts[i]->end_ns() : operation.end_ns) + offset_ns;
    record.kernel_end_ns = operation.end_ns + offset_ns;
    record.state.store(RecordState::closed, std::memory_order_release);
  }
  operation.records.clear();
  operation.parts.clear();
  if (activity::DeviceWork* work = operation.activity.get()) {
    work->begin_ns = operation.start_ns + offset_ns;
    work->end_ns = operation.end_ns + offset_ns;
    work->over_ns = operation.end_ns;
    work->resolved.store(true, std::memory_order_release);
  }
}

// Resolved predecessors give their end; true when none is left open.
bool predecessors_settled(Operation& operation) {
  auto& after = operation.after;
  std::erase_if(after, [&](const OperationPtr& before) {
    if (before->resolved) {
      operation.floor_ns = std::max(operation.floor_ns, before->end_ns);
    }
    return before->resolved;
  });
  return after.empty();
}

bool everyone_arrived(Operation& operation) {
  operation.end_ns = operation.start_ns;
  for (const auto& part : operation.parts) {
    const auto end_ns = part->end_ns();
    if (!end_ns) {
      return false;
    }
    operation.end_ns = std::max(operation.end_ns, *end_ns);
  }
  return true;
}

}  // namespace

// Work whose end was not looked at before the process ends is settled for the truth's sake.
__attribute__((destructor, used)) static void settle_at_exit() {
  if (!forked_after_use()) {
    Timeline::get().progress();
  }
}

Timeline& Timeline::get() {
  static Timeline* instance = new Timeline;  // leaked: the device thread outlives static objects
  return *instance;
}

Timeline::Timeline() {
  // A forked child cannot use the device; it must only be able to find that out.
  pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                 [] { get().mutex_.unlock(); });
}

void Timeline::submit(Stream& stream, Work work, std::uint64_t call_number) {
  std::lock_guard lock(mutex_);
  if (stream.capture != nullptr) {
    stream.capture->add(std::move(work));
    return;
  }
  enqueue(stream, work, call_number);
}

void Timeline::launch_graph(Stream& stream, const Graph& graph, std::uint64_t call_number) {
  std::lock_guard lock(mutex_);
  if (stream.capture != nullptr) {
    auto& nodes = stream.capture->nodes;
    nodes.insert(nodes.end(), graph.nodes.begin(), graph.nodes.end());
    return;
  }
  for (const auto& node : graph.nodes) {
    enqueue(stream, *node, call_number, static_cast<std::uint32_t>(graph.id));
  }
}

void Timeline::enqueue(Stream& stream, const Work& work, std::uint64_t call_number,
                       std::uint32_t graph) {
  if (work.effect) {
    work.effect();
  }
  auto operation = std::make_shared<Operation>();
  operation->floor_ns = now_ns();
  operation->duration_ns = work.duration_ns;
  operation->host = work.host;
  if (work.meet) {
    operation->parts = work.meet();
  }
  if (work.kind != WorkKind::marker) {
    operation->activity = activity_of(work, stream, graph);
    claim_records(*operation, work, stream, call_number);
    activity::launched(operation->activity);
  }
  add_predecessor(*operation, stream.last);
  if (stream.legacy) {
    for (Stream* other : streams_) {
      if (other->device == stream.device && other->blocking && other != &stream) {
        add_predecessor(*operation, other->last);
      }
    }
  } else if (stream.blocking) {
    if (const auto legacy = legacy_.find(stream.device); legacy != legacy_.end()) {
      add_predecessor(*operation, legacy->second->last);
    }
  }
  stream.last = operation;
  settle(stream, operation);
}

void Timeline::settle(const Stream& stream, const OperationPtr& operation) {
  settle_pending();
  const bool first = !pending_.contains(stream.queue);
  if (!first || !try_settle(*operation)) {
    pending_[stream.queue].push_back(operation);
    start_device_thread();
  }
}

// Again and again, because what one queue settles may be what another one waits for.
void Timeline::settle_pending() {
  for (bool settled = true; settled;) {
    settled = false;
    for (auto& [queue, operations] : pending_) {
      while (!operations.empty() &&
             (operations.front()->resolved || try_settle(*operations.front()))) {
        operations.pop_front();
        settled = true;
      }
    }
    std::erase_if(pending_, [](const auto& entry) { return entry.second.empty(); });
  }
}

bool Timeline::try_settle(Operation& operation) {
  if (!predecessors_settled(operation)) {
    return false;
  }
  if (operation.host) {
    return false;  // the device thread runs it and says when it began and ended
  }
  operation.start_ns = operation.floor_ns;
  if (!operation.parts.empty()) {
    if (!operation.arrived) {
      // Every part, not the first that says no: peers may wait for any of them.
      bool all = true;
      for (const auto& part : operation.parts) {
        all = part->arrive(operation.start_ns) && all;
      }
      operation.arrived = all;
    }
    if (!operation.arrived || !everyone_arrived(operation)) {
      return false;
    }
  } else {
    operation.end_ns = operation.start_ns + operation.duration_ns;
  }
  operation.resolved = true;
  close_records(operation);
  return true;
}

void Timeline::record(Event& event, Stream& stream) {
  std::lock_guard lock(mutex_);
  event.capture = stream.capture;
  if (stream.capture != nullptr) {
    return;
  }
  // A marker of its own: the event's time is when the stream reached it, not its predecessor's end.
  enqueue(stream, Work{}, 0);
  event.recorded = stream.last;
}

void Timeline::wait_event(Stream& stream, Event& event) {
  std::lock_guard lock(mutex_);
  if (event.capture != nullptr) {
    if (stream.capture == nullptr) {
      stream.capture = event.capture;  // the stream joins the capture
    }
    return;
  }
  if (stream.capture != nullptr || event.recorded == nullptr) {
    return;
  }
  auto operation = std::make_shared<Operation>();
  add_predecessor(*operation, stream.last);
  add_predecessor(*operation, event.recorded);
  stream.last = operation;
  settle(stream, operation);
}

bool Timeline::done(const OperationPtr& operation) {
  return operation == nullptr || (operation->resolved && operation->end_ns <= now_ns());
}

bool Timeline::finished(const Stream& stream) {
  std::lock_guard lock(mutex_);
  settle_pending();
  return done(stream.last);
}

bool Timeline::finished(const Event& event) {
  std::lock_guard lock(mutex_);
  settle_pending();
  return done(event.recorded);
}

void Timeline::wait_for(std::vector<OperationPtr> operations) {
  for (const OperationPtr& operation : operations) {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        settle_pending();
        if (operation == nullptr || operation->resolved) {
          break;
        }
      }
      sleep_for(poll_ns);
    }
    if (operation != nullptr) {
      sleep_until(operation->end_ns);
    }
  }
}

void Timeline::synchronize(const Stream& stream) {
  std::vector<OperationPtr> operations;
  {
    std::lock_guard lock(mutex_);
    operations.push_back(stream.last);
    if (stream.legacy) {
      for (const Stream* other : streams_) {
        if (other->device == stream.device && other->blocking) {
          operations.push_back(other->last);
        }
      }
    }
  }
  wait_for(std::move(operations));
}

void Timeline::synchronize(const Event& event) {
  OperationPtr recorded;
  {
    std::lock_guard lock(mutex_);
    recorded = event.recorded;
  }
  wait_for({recorded});
}

void Timeline::synchronize_device(int device) {
  std::vector<OperationPtr> operations;
  {
    std::lock_guard lock(mutex_);
    for (const Stream* stream : streams_) {
      if (stream->device == device) {
        operations.push_back(stream->last);
      }
    }
    std::erase_if(orphans_[device], done);
    operations.insert(operations.end(), orphans_[device].begin(), orphans_[device].end());
  }
  wait_for(std::move(operations));
}

bool Timeline::elapsed(const Event& from, const Event& to, std::int64_t& span_ns) {
  std::lock_guard lock(mutex_);
  settle_pending();
  if (!done(from.recorded) || !done(to.recorded)) {
    return false;
  }
  span_ns = to.recorded->end_ns - from.recorded->end_ns;
  return true;
}

void Timeline::progress() {
  std::lock_guard lock(mutex_);
  settle_pending();
}

void Timeline::start_device_thread() {
  if (!thread_started_) {
    thread_started_ = true;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { run_device_thread(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  wake_.notify_one();
}

void Timeline::run_device_thread() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return !pending_.empty(); });
    settle_pending();
    if (!run_host_functions(lock)) {
      lock.unlock();
      sleep_for(poll_ns);
      lock.lock();
    }
  }
}

bool Timeline::run_host_functions(std::unique_lock<std::mutex>& lock) {
  const auto is_due = [](const OperationPtr& item) {
    return item->host && !item->host_started && predecessors_settled(*item) &&
           item->floor_ns <= now_ns();
  };
  const auto due = std::find_if(pending_.begin(), pending_.end(), [&](const auto& entry) {
    return !entry.second.empty() && is_due(entry.second.front());
  });
  if (due == pending_.end()) {
    return false;
  }
  const OperationPtr operation = due->second.front();
  operation->host_started = true;
  operation->start_ns = now_ns();
  lock.unlock();
  operation->host();
  lock.lock();
  operation->end_ns = now_ns();
  operation->resolved = true;
  close_records(*operation);
  return true;
}

}  // namespace simgpu
