#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/graph_handles.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

cudaError_t begin(Call& call, cudaStream_t handle, std::shared_ptr<Graph> into) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->legacy) {
    return cudaErrorStreamCaptureUnsupported;
  }
  return Timeline::get().begin_capture(*stream, std::move(into)) ? cudaSuccess
                                                                 : cudaErrorIllegalState;
}

cudaStreamCaptureStatus status_of(const Stream& stream) {
  return stream.capture == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
}

}  // namespace

BODY(cudaStreamBeginCapture)(Call& call, cudaStream_t stream, cudaStreamCaptureMode mode) {
  return mode > cudaStreamCaptureModeRelaxed ? cudaErrorInvalidValue
                                             : begin(call, stream, Timeline::get().new_graph());
}

BODY(cudaStreamBeginCaptureToGraph)
(Call& call, cudaStream_t stream, cudaGraph_t handle, const cudaGraphNode_t*,
 const cudaGraphEdgeData*, std::size_t, cudaStreamCaptureMode) {
  auto graph = graph_of(handle);
  return graph == nullptr ? cudaErrorInvalidValue : begin(call, stream, std::move(graph));
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
  *out = add_graph(std::move(graph));
  return cudaSuccess;
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
