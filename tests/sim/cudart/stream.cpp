#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

constexpr int highest_priority = -5;

cudaError_t create(Call& call, cudaStream_t* out, unsigned flags, int priority) {
  if (out == nullptr || flags > cudaStreamNonBlocking) {
    return cudaErrorInvalidValue;
  }
  const bool blocking = flags != cudaStreamNonBlocking;
  Stream* stream = Timeline::get().create_stream(current_device(), flags, blocking, priority);
  *out = reinterpret_cast<cudaStream_t>(stream);
  stream_of(call, *out);
  activity::announce_stream(stream->device, static_cast<std::uint32_t>(stream->id), priority);
  return cudaSuccess;
}

}  // namespace

BODY(cudaStreamCreate)(Call& call, cudaStream_t* out) { return create(call, out, 0, 0); }

BODY(cudaStreamCreateWithFlags)(Call& call, cudaStream_t* out, unsigned flags) {
  return create(call, out, flags, 0);
}

BODY(cudaStreamCreateWithPriority)(Call& call, cudaStream_t* out, unsigned flags, int priority) {
  return create(call, out, flags, priority < highest_priority ? highest_priority : priority);
}

BODY(cudaStreamDestroy)(Call& call, cudaStream_t handle) {
  call.args().stream = reinterpret_cast<std::uint64_t>(handle);
  const bool known = Timeline::get().destroy_stream(reinterpret_cast<Stream*>(handle));
  return known ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

BODY(cudaStreamGetPriority)(Call& call, cudaStream_t handle, int* priority) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (priority == nullptr) {
    return cudaErrorInvalidValue;
  }
  *priority = stream->priority;
  return cudaSuccess;
}

BODY(cudaStreamGetFlags)(Call& call, cudaStream_t handle, unsigned* flags) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (flags == nullptr) {
    return cudaErrorInvalidValue;
  }
  *flags = stream->flags;
  return cudaSuccess;
}

BODY(cudaStreamGetId)(Call& call, cudaStream_t handle, unsigned long long* id) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (id == nullptr) {
    return cudaErrorInvalidValue;
  }
  *id = stream->id;
  return cudaSuccess;
}

BODY(cudaStreamGetDevice)(Call& call, cudaStream_t handle, int* device) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (device == nullptr) {
    return cudaErrorInvalidValue;
  }
  *device = stream->device;
  return cudaSuccess;
}

BODY(cudaStreamWaitEvent)
(Call& call, cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  Stream* stream = stream_of(call, handle);
  auto* event = reinterpret_cast<Event*>(event_handle);
  call.args().address = reinterpret_cast<std::uint64_t>(event_handle);
  if (flags > cudaEventWaitExternal) {
    return cudaErrorInvalidValue;
  }
  if (stream == nullptr || !Timeline::get().is_event(event)) {
    return cudaErrorInvalidResourceHandle;
  }
  Timeline::get().wait_event(*stream, *event);
  return cudaSuccess;
}

BODY(cudaStreamSynchronize)(Call& call, cudaStream_t handle) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) {
    return cudaErrorStreamCaptureUnsupported;
  }
  Timeline::get().synchronize(*stream);
  return cudaSuccess;
}

BODY(cudaStreamQuery)(Call& call, cudaStream_t handle) {
  const Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  return Timeline::get().finished(*stream) ? cudaSuccess : cudaErrorNotReady;
}

BODY(cudaStreamAddCallback)
(Call& call, cudaStream_t handle, cudaStreamCallback_t callback, void* data, unsigned flags) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (callback == nullptr || flags != 0) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::host;
  work.host = [=] { callback(handle, cudaSuccess, data); };
  Timeline::get().submit(*stream, std::move(work), call.number());
  return cudaSuccess;
}

BODY(cudaLaunchHostFunc)(Call& call, cudaStream_t handle, cudaHostFn_t function, void* data) {
  Stream* stream = stream_of(call, handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (function == nullptr) {
    return cudaErrorInvalidValue;
  }
  Work work;
  work.kind = WorkKind::host;
  work.host = [=] { function(data); };
  Timeline::get().submit(*stream, std::move(work), call.number());
  return cudaSuccess;
}

BODY(cudaStreamAttachMemAsync)(Call& call, cudaStream_t handle, void*, std::size_t, unsigned) {
  return stream_of(call, handle) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

BODY(cudaStreamCopyAttributes)(Call& call, cudaStream_t to, cudaStream_t from) {
  const bool known = stream_of(call, from) != nullptr && stream_of(call, to) != nullptr;
  return known ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

BODY(cudaStreamGetAttribute)
(Call& call, cudaStream_t handle, cudaLaunchAttributeID, cudaLaunchAttributeValue* value) {
  if (value == nullptr) {
    return cudaErrorInvalidValue;
  }
  *value = {};
  return stream_of(call, handle) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

BODY(cudaStreamSetAttribute)
(Call& call, cudaStream_t handle, cudaLaunchAttributeID, const cudaLaunchAttributeValue* value) {
  if (value == nullptr) {
    return cudaErrorInvalidValue;
  }
  return stream_of(call, handle) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

BODY(cudaCtxResetPersistingL2Cache)(Call&) { return cudaSuccess; }

}  // namespace simgpu::cudart
