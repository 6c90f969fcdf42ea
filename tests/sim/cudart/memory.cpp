#include "tests/sim/engine/memory.hpp"

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/capture.hpp"
#include "tests/sim/cudart/registration.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

using memory::Kind;

constexpr std::size_t pitch_alignment = 512;

cudaError_t allocate(Call& call, void** out, std::size_t bytes, Kind kind, unsigned flags = 0) {
  call.args().bytes = bytes;
  call.args().device = current_device();
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  *out = memory::allocate(bytes, kind, current_device(), flags);
  call.args().address = reinterpret_cast<std::uint64_t>(*out);
  return *out == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t release(Call& call, void* address, bool host) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  call.args().device = current_device();
  if (address == nullptr) {
    return cudaSuccess;
  }
  const auto block = memory::find(address);
  if (!block || block->base != address) {
    return cudaErrorInvalidValue;
  }
  call.args().bytes = block->bytes;
  Timeline::get().synchronize_device(block->device);  // as the real cudaFree does
  return memory::release(address, host) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaMemoryType type_of(Kind kind) {
  switch (kind) {
    case Kind::device:
      return cudaMemoryTypeDevice;
    case Kind::managed:
      return cudaMemoryTypeManaged;
    case Kind::pinned:
    case Kind::registered:
      return cudaMemoryTypeHost;
  }
  return cudaMemoryTypeUnregistered;
}

std::size_t pitch_for(std::size_t width_bytes) {
  return (width_bytes + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
}

bool host_visible(const std::optional<memory::Block>& block) {
  return block && (block->kind == Kind::pinned || block->kind == Kind::registered);
}

}  // namespace

BODY(cudaMalloc)(Call& call, void** out, std::size_t bytes) {
  return disturbs_capture() ? cudaErrorStreamCaptureUnsupported
                            : allocate(call, out, bytes, Kind::device);
}

BODY(cudaMallocManaged)(Call& call, void** out, std::size_t bytes, unsigned flags) {
  return bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
             ? cudaErrorInvalidValue
             : allocate(call, out, bytes, Kind::managed, flags);
}

BODY(cudaMallocHost)(Call& call, void** out, std::size_t bytes) {
  return allocate(call, out, bytes, Kind::pinned);
}

BODY(cudaHostAlloc)(Call& call, void** out, std::size_t bytes, unsigned flags) {
  return flags > 7 ? cudaErrorInvalidValue : allocate(call, out, bytes, Kind::pinned, flags);
}

BODY(cudaMallocPitch)
(Call& call, void** out, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pitch == nullptr) {
    return cudaErrorInvalidValue;
  }
  *pitch = pitch_for(width);
  const cudaError_t result = allocate(call, out, *pitch * height, Kind::device);
  call.args().bytes = width * height;  // what was asked for
  return result;
}

BODY(cudaMalloc3D)(Call& call, cudaPitchedPtr* out, cudaExtent extent) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = {nullptr, pitch_for(extent.width), extent.width, extent.height};
  const std::size_t rows = extent.height * extent.depth;
  const cudaError_t result = allocate(call, &out->ptr, out->pitch * rows, Kind::device);
  call.args().bytes = extent.width * rows;
  return result;
}

BODY(cudaFree)(Call& call, void* address) { return release(call, address, false); }

BODY(cudaFreeHost)(Call& call, void* address) { return release(call, address, true); }

BODY(cudaHostRegister)(Call& call, void* address, std::size_t bytes, unsigned flags) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  call.args().bytes = bytes;
  if (address == nullptr || bytes == 0) {
    return cudaErrorInvalidValue;
  }
  return memory::add_registered(address, bytes, flags) ? cudaSuccess
                                                       : cudaErrorHostMemoryAlreadyRegistered;
}

BODY(cudaHostUnregister)(Call& call, void* address) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  if (address == nullptr) {
    return cudaErrorInvalidValue;
  }
  return memory::remove_registered(address) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
}

BODY(cudaHostGetDevicePointer)(Call&, void** device, void* host, unsigned flags) {
  if (device == nullptr || flags != 0 || !host_visible(memory::find(host))) {
    return cudaErrorInvalidValue;
  }
  *device = host;
  return cudaSuccess;
}

BODY(cudaHostGetFlags)(Call&, unsigned* flags, void* host) {
  const auto block = memory::find(host);
  if (flags == nullptr || !host_visible(block)) {
    return cudaErrorInvalidValue;
  }
  *flags = block->flags;
  return cudaSuccess;
}

BODY(cudaMemGetInfo)(Call&, std::size_t* free_bytes, std::size_t* total_bytes) {
  if (free_bytes == nullptr || total_bytes == nullptr) {
    return cudaErrorInvalidValue;
  }
  *total_bytes = script().device_memory_bytes;
  *free_bytes = *total_bytes - memory::used_bytes(current_device());
  return cudaSuccess;
}

BODY(cudaPointerGetAttributes)(Call&, cudaPointerAttributes* out, const void* address) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = {};
  out->type = cudaMemoryTypeUnregistered;
  out->device = -2;  // as the real one says for memory it does not know
  out->hostPointer = const_cast<void*>(address);
  if (const auto block = memory::find(address)) {
    out->type = type_of(block->kind);
    out->device = block->device;
    out->devicePointer = const_cast<void*>(address);
    out->hostPointer = block->kind == Kind::device ? nullptr : out->devicePointer;
  }
  return cudaSuccess;
}

BODY(cudaGetSymbolAddress)(Call&, void** out, const void* symbol) {
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr || out == nullptr) {
    return cudaErrorInvalidSymbol;
  }
  *out = variable->address;
  return cudaSuccess;
}

BODY(cudaGetSymbolSize)(Call&, std::size_t* out, const void* symbol) {
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr || out == nullptr) {
    return cudaErrorInvalidSymbol;
  }
  *out = variable->bytes;
  return cudaSuccess;
}

BODY(cudaMemAdvise)
(Call&, const void* address, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return memory::covers(address, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

BODY(cudaMemRangeGetAttribute)
(Call&, void* data, std::size_t data_bytes, cudaMemRangeAttribute, const void* address,
 std::size_t bytes) {
  if (data == nullptr || data_bytes < sizeof(int) || !memory::covers(address, bytes)) {
    return cudaErrorInvalidValue;
  }
  *static_cast<int*>(data) = 0;
  return cudaSuccess;
}

BODY(cudaIpcGetMemHandle)(Call&, cudaIpcMemHandle_t* handle, void* address) {
  const auto block = memory::find(address);
  if (handle == nullptr || !block || block->kind != Kind::device) {
    return cudaErrorInvalidValue;
  }
  *handle = {};
  *reinterpret_cast<void**>(handle->reserved) = address;
  return cudaSuccess;
}

// Another process's memory cannot be seen: as on the real one, a handle from the own process is
// refused, and a foreign one opens fresh memory.
BODY(cudaIpcOpenMemHandle)(Call& call, void** out, cudaIpcMemHandle_t handle, unsigned) {
  if (memory::find(*reinterpret_cast<void**>(handle.reserved))) {
    return cudaErrorInvalidResourceHandle;
  }
  return allocate(call, out, std::size_t{2} << 20, Kind::device);
}

BODY(cudaIpcCloseMemHandle)(Call& call, void* address) { return release(call, address, false); }

}  // namespace simgpu::cudart
