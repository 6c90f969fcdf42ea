#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/capture.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

constexpr unsigned known_flags =
    cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

Event* event_of(Call& call, cudaEvent_t handle) {
  call.args().address = reinterpret_cast<std::uint64_t>(handle);
  auto* event = reinterpret_cast<Event*>(handle);
  return Timeline::get().is_event(event) ? event : nullptr;
}

cudaError_t create(Call& call, cudaEvent_t* out, unsigned flags) {
  const bool ipc_with_timing =
      (flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0;
  if (out == nullptr || (flags & ~known_flags) != 0 || ipc_with_timing) {
    return cudaErrorInvalidValue;
  }
  *out = reinterpret_cast<cudaEvent_t>(Timeline::get().create_event(flags));
  call.args().address = reinterpret_cast<std::uint64_t>(*out);
  return cudaSuccess;
}

cudaError_t record(Call& call, cudaEvent_t handle, cudaStream_t stream_handle) {
  Event* event = event_of(call, handle);
  Stream* stream = stream_of(call, stream_handle);
  if (event == nullptr || stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  Timeline::get().record(*event, *stream);
  return cudaSuccess;
}

}  // namespace

BODY(cudaEventCreate)(Call& call, cudaEvent_t* event) { return create(call, event, 0); }

BODY(cudaEventCreateWithFlags)(Call& call, cudaEvent_t* event, unsigned flags) {
  return create(call, event, flags);
}

BODY(cudaEventRecord)(Call& call, cudaEvent_t event, cudaStream_t stream) {
  return record(call, event, stream);
}

BODY(cudaEventRecordWithFlags)(Call& call, cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return flags > cudaEventRecordExternal ? cudaErrorInvalidValue : record(call, event, stream);
}

BODY(cudaEventQuery)(Call& call, cudaEvent_t handle) {
  const Event* event = event_of(call, handle);
  if (event == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (disturbs_capture()) {
    return cudaErrorStreamCaptureUnsupported;
  }
  return Timeline::get().finished(*event) ? cudaSuccess : cudaErrorNotReady;
}

BODY(cudaEventSynchronize)(Call& call, cudaEvent_t handle) {
  const Event* event = event_of(call, handle);
  if (event == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (disturbs_capture()) {
    return cudaErrorStreamCaptureUnsupported;
  }
  Timeline::get().synchronize(*event);
  return cudaSuccess;
}

BODY(cudaEventDestroy)(Call& call, cudaEvent_t handle) {
  call.args().address = reinterpret_cast<std::uint64_t>(handle);
  const bool known = Timeline::get().destroy_event(reinterpret_cast<Event*>(handle));
  return known ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

BODY(cudaEventElapsedTime)(Call& call, float* ms, cudaEvent_t from_handle, cudaEvent_t to_handle) {
  const Event* from = event_of(call, from_handle);
  const Event* to = event_of(call, to_handle);
  if (ms == nullptr) {
    return cudaErrorInvalidValue;
  }
  const auto untimed = [](const Event* event) {
    return event == nullptr || event->recorded == nullptr ||
           (event->flags & cudaEventDisableTiming) != 0;
  };
  if (untimed(from) || untimed(to)) {
    return cudaErrorInvalidResourceHandle;
  }
  std::int64_t span_ns = 0;
  if (!Timeline::get().elapsed(*from, *to, span_ns)) {
    return cudaErrorNotReady;
  }
  *ms = static_cast<float>(static_cast<double>(span_ns) / 1e6);
  return cudaSuccess;
}

}  // namespace simgpu::cudart
