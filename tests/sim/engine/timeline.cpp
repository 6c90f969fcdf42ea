#include "tests/sim/engine/timeline.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <thread>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/operation.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu {
namespace {

constexpr std::int64_t poll_ns = 100'000;

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
  enqueue(stream, work, {call_number, 0, {}});
}

void Timeline::launch_graph(Stream& stream, const Graph& graph, std::uint64_t call_number) {
  std::lock_guard lock(mutex_);
  if (stream.capture != nullptr) {
    auto& nodes = stream.capture->nodes;
    nodes.insert(nodes.end(), graph.nodes.begin(), graph.nodes.end());
    return;
  }
  // Kernels that follow each other are branches, if the script says so: all begin together, and
  // what comes after waits for all.
  const OperationPtr before = stream.last;
  Launch launch{call_number, static_cast<std::uint32_t>(graph.id), {}};
  OperationPtr fork = before;
  std::vector<OperationPtr> branches;
  const auto join = [&] {
    if (branches.size() > 1) {
      add_marker(stream, branches);
    }
    branches.clear();
    fork = stream.last;
  };
  for (const auto& node : graph.nodes) {
    const bool branch = script().concurrent_graphs && runs_as_kernel(*node);
    if (!branch) {
      join();
    }
    launch.fork = branch ? std::optional(fork) : std::nullopt;
    enqueue(stream, *node, launch);
    branches.push_back(stream.last);
  }
  join();
}

void Timeline::add_marker(Stream& stream, const std::vector<OperationPtr>& after) {
  auto operation = std::make_shared<Operation>();
  for (const OperationPtr& before : after) {
    add_predecessor(*operation, {before, false});
  }
  stream.last = operation;
  settle(stream, operation);
}

void Timeline::enqueue(Stream& stream, const Work& work, const Launch& launch) {
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
    claim_records(*operation, work, stream, launch.call_number, launch.graph);
    activity::launched(operation->activity);
  }
  operation->kernel = runs_as_kernel(work);
  const OperationPtr& before = launch.fork ? *launch.fork : stream.last;
  add_predecessor(*operation, {before, operation->kernel && before != nullptr && before->kernel});
  if (stream.legacy) {
    for (Stream* other : streams_) {
      if (other->device == stream.device && other->blocking && other != &stream) {
        add_predecessor(*operation, {other->last, false});
      }
    }
  } else if (stream.blocking) {
    if (const auto legacy = legacy_.find(stream.device); legacy != legacy_.end()) {
      add_predecessor(*operation, {legacy->second->last, false});
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
    if (!everyone_met(operation)) {
      return false;
    }
  } else {
    operation.end_ns = operation.start_ns + operation.duration_ns;
  }
  resolve(operation);
  return true;
}

void Timeline::record(Event& event, Stream& stream) {
  std::lock_guard lock(mutex_);
  event.capture = stream.capture;
  if (stream.capture != nullptr) {
    return;
  }
  // A marker of its own: the event's time is when the stream reached it, not its predecessor's end.
  enqueue(stream, Work{}, {});
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
  add_marker(stream, {stream.last, event.recorded});
}

bool Timeline::done(const OperationPtr& operation) {
  return operation == nullptr || (operation->resolved && operation->done_ns <= now_ns());
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
      sleep_until(operation->done_ns);
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
  span_ns = to.recorded->done_ns - from.recorded->done_ns;
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
  resolve(*operation);
  return true;
}

}  // namespace simgpu
