#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/engine/stream.hpp"

namespace simgpu {

/// When everything on the simulated devices happens. Work starts when it is enqueued, its stream
/// is free and what it waits for has ended. Most ends are known at once; work that meets other
/// ranks stays pending, with all that follows it, until the last of them has arrived.
class Timeline {
 public:
  static Timeline& get();

  Stream* create_stream(int device, unsigned flags, bool blocking, int priority);
  /// False for a handle that is no stream. Work already queued still runs.
  bool destroy_stream(Stream* stream);
  bool is_stream(const Stream* stream);
  Stream* legacy_stream(int device);
  Stream* thread_stream(int device);

  Event* create_event(unsigned flags);
  bool destroy_event(Event* event);
  bool is_event(const Event* event);

  /// Gives work to a stream, or to the graph that the stream is capturing.
  void submit(Stream& stream, Work work, std::uint64_t call_number);
  void launch_graph(Stream& stream, const Graph& graph, std::uint64_t call_number);

  void record(Event& event, Stream& stream);
  void wait_event(Stream& stream, Event& event);

  bool finished(const Stream& stream);
  bool finished(const Event& event);
  void synchronize(const Stream& stream);
  void synchronize(const Event& event);
  void synchronize_device(int device);
  /// The device times of two recorded events; false while one is still unknown.
  bool elapsed(const Event& from, const Event& to, std::int64_t& span_ns);

  bool begin_capture(Stream& stream, std::shared_ptr<Graph> into);
  /// The graph, or nullptr when this stream did not begin a capture.
  std::shared_ptr<Graph> end_capture(Stream& stream);
  std::shared_ptr<Graph> new_graph();

  /// Settles what can be settled now. For whoever waits on peers outside of a stream.
  void progress();

 private:
  Timeline();
  struct Launch {
    std::uint64_t call_number = 0;
    std::uint32_t graph = 0;
    std::optional<OperationPtr> fork;  // begins after this instead of after the stream's last work
  };
  void enqueue(Stream& stream, const Work& work, const Launch& launch);
  /// Nothing to do but to wait.
  void add_marker(Stream& stream, const std::vector<OperationPtr>& after);
  void settle(const Stream& stream, const OperationPtr& operation);
  void settle_pending();
  bool try_settle(Operation& operation);
  void run_device_thread();
  void start_device_thread();
  bool run_host_functions(std::unique_lock<std::mutex>& lock);
  void wait_for(std::vector<OperationPtr> operations);
  static bool done(const OperationPtr& operation);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool thread_started_ = false;
  std::uint64_t next_stream_id_ = 13;
  std::uint64_t next_graph_id_ = 1;
  std::set<Stream*> streams_;
  std::set<Event*> events_;
  std::map<int, Stream*> legacy_;
  // By Stream::queue. Only the first of a queue can be settled: the others follow it.
  std::map<std::uint64_t, std::deque<OperationPtr>> pending_;
  std::map<int, std::vector<OperationPtr>> orphans_;  // last work of destroyed streams, by device
};

}  // namespace simgpu
