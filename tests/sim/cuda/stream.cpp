#include <map>
#include <memory>
#include <mutex>

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cuda {
namespace {

// The driver's own graphs: those that libcudart captured are libcudart's.
struct Graphs {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<Graph>> all;
};

Graphs& graphs() {
  static auto* instance = new Graphs;
  return *instance;
}

void* keep(std::shared_ptr<Graph> graph) {
  Graphs& kept = graphs();
  std::lock_guard lock(kept.mutex);
  void* handle = graph.get();
  kept.all[handle] = std::move(graph);
  return handle;
}

std::shared_ptr<Graph> graph_of(const void* handle) {
  Graphs& kept = graphs();
  std::lock_guard lock(kept.mutex);
  const auto found = kept.all.find(handle);
  return found == kept.all.end() ? nullptr : found->second;
}

Event* event_of(Call& call, CUevent handle) {
  call.args().address = reinterpret_cast<std::uint64_t>(handle);
  auto* event = reinterpret_cast<Event*>(handle);
  return Timeline::get().is_event(event) ? event : nullptr;
}

}  // namespace

Stream* stream_of(Call& call, CUstream handle) {
  Timeline& timeline = Timeline::get();
  call.args().stream = reinterpret_cast<std::uint64_t>(handle);
  Stream* stream = nullptr;
  if (handle == CU_STREAM_PER_THREAD || (handle == nullptr && call.per_thread())) {
    stream = timeline.thread_stream(current_device());
  } else if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    stream = timeline.legacy_stream(current_device());
  } else if (timeline.is_stream(reinterpret_cast<Stream*>(handle))) {
    stream = reinterpret_cast<Stream*>(handle);
  }
  if (stream != nullptr) {
    call.args().stream_id = stream->id;
    call.args().device = stream->device;
  }
  return stream;
}

BODY(cuStreamCreate, v1)(Call& call, CUstream* out, unsigned flags) {
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool blocking = flags != CU_STREAM_NON_BLOCKING;
  *out = reinterpret_cast<CUstream>(
      Timeline::get().create_stream(current_device(), flags, blocking, 0));
  stream_of(call, *out);
  return CUDA_SUCCESS;
}

BODY(cuStreamDestroy, v2)(Call& call, CUstream handle) {
  call.args().stream = reinterpret_cast<std::uint64_t>(handle);
  const bool known = Timeline::get().destroy_stream(reinterpret_cast<Stream*>(handle));
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

BODY(cuStreamSynchronize, v1)(Call& call, CUstream handle) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Timeline::get().synchronize(*stream);
  return CUDA_SUCCESS;
}

BODY(cuStreamBeginCapture, v2)(Call& call, CUstream handle, CUstreamCaptureMode) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline& timeline = Timeline::get();
  return timeline.begin_capture(*stream, timeline.new_graph())
             ? CUDA_SUCCESS
             : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

BODY(cuStreamEndCapture, v1)(Call& call, CUstream handle, CUgraph* out) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  std::shared_ptr<Graph> graph = Timeline::get().end_capture(*stream);
  if (out == nullptr || graph == nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  *out = static_cast<CUgraph>(keep(std::move(graph)));
  return CUDA_SUCCESS;
}

BODY(cuGraphInstantiateWithFlags, v1)(Call&, CUgraphExec* out, CUgraph handle, unsigned long long) {
  const std::shared_ptr<Graph> graph = graph_of(handle);
  if (out == nullptr || graph == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = static_cast<CUgraphExec>(keep(std::make_shared<Graph>(*graph)));
  return CUDA_SUCCESS;
}

BODY(cuGraphLaunch, v1)(Call& call, CUgraphExec exec, CUstream handle) {
  Stream* stream = stream_of(call, handle);
  const std::shared_ptr<Graph> graph = graph_of(exec);
  call.args().address = reinterpret_cast<std::uint64_t>(exec);
  if (graph == nullptr || stream == nullptr) {
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  }
  call.args().count = graph->nodes.size();
  Timeline::get().launch_graph(*stream, *graph, call.number());
  return CUDA_SUCCESS;
}

BODY(cuEventCreate, v1)(Call& call, CUevent* out, unsigned flags) {
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = reinterpret_cast<CUevent>(Timeline::get().create_event(flags));
  event_of(call, *out);
  return CUDA_SUCCESS;
}

BODY(cuEventDestroy, v2)(Call& call, CUevent handle) {
  Event* event = event_of(call, handle);
  return event != nullptr && Timeline::get().destroy_event(event) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_INVALID_HANDLE;
}

BODY(cuEventRecord, v1)(Call& call, CUevent handle, CUstream stream_handle) {
  Event* event = event_of(call, handle);
  Stream* stream = stream_of(call, stream_handle);
  if (event == nullptr || stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline::get().record(*event, *stream);
  return CUDA_SUCCESS;
}

BODY(cuEventSynchronize, v1)(Call& call, CUevent handle) {
  const Event* event = event_of(call, handle);
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline::get().synchronize(*event);
  return CUDA_SUCCESS;
}

}  // namespace simgpu::cuda
