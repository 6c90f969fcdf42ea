#include <algorithm>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/timeline.hpp"

/// Streams, events and captures as things with a life; their times are in timeline.cpp.
namespace simgpu {

Stream* Timeline::create_stream(int device, unsigned flags, bool blocking, int priority) {
  auto* stream = new Stream;
  stream->device = device;
  stream->flags = flags;
  stream->blocking = blocking;
  stream->priority = priority;
  std::lock_guard lock(mutex_);
  stream->id = stream->queue = next_stream_id_++;
  streams_.insert(stream);
  return stream;
}

bool Timeline::destroy_stream(Stream* stream) {
  std::lock_guard lock(mutex_);
  if (streams_.erase(stream) == 0) {
    return false;
  }
  orphans_[stream->device].push_back(stream->last);
  delete stream;
  return true;
}

bool Timeline::is_stream(const Stream* stream) {
  std::lock_guard lock(mutex_);
  return streams_.contains(const_cast<Stream*>(stream));
}

Stream* Timeline::legacy_stream(int device) {
  std::lock_guard lock(mutex_);
  Stream*& stream = legacy_[device];
  if (stream == nullptr) {
    stream = new Stream;
    stream->id = 7;  // what CUPTI calls the default stream
    stream->queue = next_stream_id_++;
    stream->device = device;
    stream->legacy = true;
    streams_.insert(stream);
  }
  return stream;
}

Stream* Timeline::thread_stream(int device) {
  static thread_local std::map<int, Stream*> mine;
  Stream*& stream = mine[device];
  if (stream == nullptr) {
    stream = create_stream(device, 0, true, 0);
  }
  return stream;
}

Event* Timeline::create_event(unsigned flags) {
  auto* event = new Event;
  event->flags = flags;
  std::lock_guard lock(mutex_);
  events_.insert(event);
  return event;
}

bool Timeline::destroy_event(Event* event) {
  std::lock_guard lock(mutex_);
  if (events_.erase(event) == 0) {
    return false;
  }
  delete event;
  return true;
}

bool Timeline::is_event(const Event* event) {
  std::lock_guard lock(mutex_);
  return events_.contains(const_cast<Event*>(event));
}

std::shared_ptr<Graph> Timeline::new_graph() {
  std::lock_guard lock(mutex_);
  auto graph = std::make_shared<Graph>();
  graph->id = next_graph_id_++;
  return graph;
}

bool Timeline::begin_capture(Stream& stream, std::shared_ptr<Graph> into) {
  std::lock_guard lock(mutex_);
  if (stream.capture != nullptr || stream.legacy) {
    return false;
  }
  stream.capture = std::move(into);
  stream.capture_origin = true;
  return true;
}

std::shared_ptr<Graph> Timeline::end_capture(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (stream.capture == nullptr || !stream.capture_origin) {
    return nullptr;
  }
  const std::shared_ptr<Graph> graph = stream.capture;
  stream.capture_origin = false;
  for (Stream* each : streams_) {
    if (each->capture == graph) {
      each->capture = nullptr;
    }
  }
  return graph;
}

}  // namespace simgpu
