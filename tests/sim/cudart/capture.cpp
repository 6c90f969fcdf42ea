#include "tests/sim/cudart/capture.hpp"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/graph_handles.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// A capture under way, begun in a mode that other threads' calls can end.
struct GlobalCapture {
  const Stream* stream;
  std::thread::id thread;
  bool ended;
};
std::mutex captures_mutex;
std::vector<GlobalCapture> captures;

void note_begin(const Stream& stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(captures_mutex);
  std::erase_if(captures, [&](const auto& each) { return each.stream == &stream; });
  if (mode == cudaStreamCaptureModeGlobal) {
    captures.push_back({&stream, std::this_thread::get_id(), false});
  }
}

bool was_ended(const Stream& stream) {
  const std::lock_guard lock(captures_mutex);
  return std::any_of(captures.begin(), captures.end(),
                     [&](const auto& each) { return each.stream == &stream && each.ended; });
}

cudaError_t begin(Call& call, cudaStream_t handle, std::shared_ptr<Graph> into,
                  cudaStreamCaptureMode mode) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->legacy) {
    return cudaErrorStreamCaptureUnsupported;
  }
  if (!Timeline::get().begin_capture(*stream, std::move(into))) {
    return cudaErrorIllegalState;
  }
  note_begin(*stream, mode);
  return cudaSuccess;
}

cudaStreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) {
    return cudaStreamCaptureStatusNone;
  }
  return was_ended(stream) ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

}  // namespace

bool disturbs_capture() {
  if (thread_mode != cudaStreamCaptureModeGlobal) {
    return false;
  }
  const std::lock_guard lock(captures_mutex);
  bool disturbs = false;
  for (GlobalCapture& capture : captures) {
    if (capture.thread != std::this_thread::get_id()) {
      capture.ended = disturbs = true;
    }
  }
  return disturbs;
}

BODY(cudaStreamBeginCapture)(Call& call, cudaStream_t stream, cudaStreamCaptureMode mode) {
  return mode > cudaStreamCaptureModeRelaxed
             ? cudaErrorInvalidValue
             : begin(call, stream, Timeline::get().new_graph(), mode);
}

BODY(cudaStreamBeginCaptureToGraph)
(Call& call, cudaStream_t stream, cudaGraph_t handle, const cudaGraphNode_t*,
 const cudaGraphEdgeData*, std::size_t, cudaStreamCaptureMode mode) {
  auto graph = graph_of(handle);
  return graph == nullptr ? cudaErrorInvalidValue : begin(call, stream, std::move(graph), mode);
}

BODY(cudaStreamEndCapture)(Call& call, cudaStream_t handle, cudaGraph_t* out) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  auto graph = Timeline::get().end_capture(*stream);
  if (graph == nullptr) {
    return cudaErrorIllegalState;
  }
  const bool ended = was_ended(*stream);
  note_begin(*stream, cudaStreamCaptureModeRelaxed);  // it is over
  *out = ended ? nullptr : add_graph(std::move(graph));
  return ended ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

BODY(cudaStreamIsCapturing)(Call& call, cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (status == nullptr) {
    return cudaErrorInvalidValue;
  }
  *status = status_of(*stream);
  return cudaSuccess;
}

BODY(cudaStreamGetCaptureInfo)
(Call& call, cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
 cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
 std::size_t* count) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (status == nullptr) {
    return cudaErrorInvalidValue;
  }
  *status = status_of(*stream);
  if (stream->capture == nullptr) {
    return cudaSuccess;
  }
  if (id != nullptr) {
    *id = stream->capture->id;
  }
  if (graph != nullptr) {
    *graph = add_graph(stream->capture);
  }
  if (dependencies != nullptr) {
    *dependencies = nullptr;
  }
  if (edges != nullptr) {
    *edges = nullptr;
  }
  if (count != nullptr) {
    *count = 0;
  }
  return cudaSuccess;
}

BODY(cudaStreamUpdateCaptureDependencies)
(Call& call, cudaStream_t handle, cudaGraphNode_t*, const cudaGraphEdgeData*, std::size_t,
 unsigned) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  return stream->capture == nullptr ? cudaErrorIllegalState : cudaSuccess;
}

BODY(cudaThreadExchangeStreamCaptureMode)(Call&, cudaStreamCaptureMode* mode) {
  if (mode == nullptr) {
    return cudaErrorInvalidValue;
  }
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

}  // namespace simgpu::cudart
