#include "tests/sim/cudart/array.hpp"

#include <algorithm>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/memory.hpp"

namespace simgpu::cudart {
namespace {

cudaError_t create(Call& call, cudaArray_t* out, const cudaChannelFormatDesc* format,
                   cudaExtent extent, unsigned flags) {
  if (out == nullptr || format == nullptr || extent.width == 0) {
    return cudaErrorInvalidValue;
  }
  auto* array = new Array{*format, extent, flags, nullptr};
  const std::size_t rows =
      std::max<std::size_t>(extent.height, 1) * std::max<std::size_t>(extent.depth, 1);
  call.args().bytes = array->row_bytes() * rows;
  array->base = static_cast<char*>(
      memory::allocate(array->row_bytes() * rows, memory::Kind::device, current_device()));
  if (array->base == nullptr) {
    delete array;
    return cudaErrorMemoryAllocation;
  }
  *out = reinterpret_cast<cudaArray_t>(array);
  return cudaSuccess;
}

}  // namespace

BODY(cudaMallocArray)
(Call& call, cudaArray_t* out, const cudaChannelFormatDesc* format, std::size_t width,
 std::size_t height, unsigned flags) {
  return create(call, out, format, {width, height, 0}, flags);
}

BODY(cudaMalloc3DArray)
(Call& call, cudaArray_t* out, const cudaChannelFormatDesc* format, cudaExtent extent,
 unsigned flags) {
  return create(call, out, format, extent, flags);
}

BODY(cudaFreeArray)(Call&, cudaArray_t handle) {
  if (handle != nullptr) {
    Array* array = array_of(handle);
    memory::release(array->base, false);
    delete array;
  }
  return cudaSuccess;
}

BODY(cudaArrayGetInfo)
(Call&, cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t handle) {
  if (handle == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const Array& array = *array_of(handle);
  if (format != nullptr) {
    *format = array.format;
  }
  if (extent != nullptr) {
    *extent = array.extent;
  }
  if (flags != nullptr) {
    *flags = array.flags;
  }
  return cudaSuccess;
}

BODY(cudaGetChannelDesc)(Call&, cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  if (format == nullptr || handle == nullptr) {
    return cudaErrorInvalidValue;
  }
  *format = array_of(handle)->format;
  return cudaSuccess;
}

BODY(cudaCreateTextureObject)
(Call&, cudaTextureObject_t* out, const cudaResourceDesc* resource, const cudaTextureDesc*,
 const cudaResourceViewDesc*) {
  if (out == nullptr || resource == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = 1;
  return cudaSuccess;
}

BODY(cudaDestroyTextureObject)(Call&, cudaTextureObject_t) { return cudaSuccess; }

BODY(cudaCreateSurfaceObject)(Call&, cudaSurfaceObject_t* out, const cudaResourceDesc* resource) {
  if (out == nullptr || resource == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = 1;
  return cudaSuccess;
}

BODY(cudaDestroySurfaceObject)(Call&, cudaSurfaceObject_t) { return cudaSuccess; }

}  // namespace simgpu::cudart

extern "C" __attribute__((visibility("default"))) cudaChannelFormatDesc cudaCreateChannelDesc(
    int x, int y, int z, int w, cudaChannelFormatKind kind) {
  simgpu::Call call(simgpu::Function{
      simgpu::Library::cudart, simgpu::cudart::Number::cudaCreateChannelDesc,
      "cudaCreateChannelDesc", simgpu::Variant::plain, simgpu::cudart::cudart_major});
  call.finish(0);
  return {x, y, z, w, kind};
}
