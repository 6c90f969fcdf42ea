#include "tests/sim/cudart/array.hpp"

#include <algorithm>

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/cuda/copy.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/memory.hpp"

namespace simgpu::cuda {
namespace {

int bits_of(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 8;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 32;
    default:
      return 0;
  }
}

// libcudart's arrays are the driver's.
char* place_in(CUarray handle, std::size_t offset) {
  return cudart::array_of(reinterpret_cast<cudaArray_t>(handle))->base + offset;
}

}  // namespace

BODY(cuArrayCreate, v2)(Call& call, CUarray* out, const CUDA_ARRAY_DESCRIPTOR* wanted) {
  const int bits = wanted != nullptr ? bits_of(wanted->Format) : 0;
  if (out == nullptr || bits == 0 || wanted->Width == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  cudaChannelFormatDesc format{bits, 0, 0, 0, cudaChannelFormatKindUnsigned};
  format.y = wanted->NumChannels > 1 ? bits : 0;
  format.z = format.w = wanted->NumChannels > 2 ? bits : 0;
  auto* array = new cudart::Array{format, {wanted->Width, wanted->Height, 0}, 0, nullptr};
  const std::size_t bytes = array->row_bytes() * std::max<std::size_t>(wanted->Height, 1);
  call.args().bytes = bytes;
  array->base = static_cast<char*>(memory::allocate(bytes, memory::Kind::device, current_device()));
  if (array->base == nullptr) {
    delete array;
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = reinterpret_cast<CUarray>(array);
  return CUDA_SUCCESS;
}

BODY(cuArrayDestroy, v1)(Call&, CUarray handle) {
  if (handle == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  cudart::Array* array = cudart::array_of(reinterpret_cast<cudaArray_t>(handle));
  memory::release(array->base, false);
  delete array;
  return CUDA_SUCCESS;
}

BODY(cuMemcpyHtoA, v2)
(Call& call, CUarray dst, std::size_t offset, const void* src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, place_in(dst, offset), src, bytes,
                    cudaMemcpyHostToDevice);
}

BODY(cuMemcpyHtoAAsync, v2)
(Call& call, CUarray dst, std::size_t offset, const void* src, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, place_in(dst, offset), src, bytes,
                    cudaMemcpyHostToDevice);
}

BODY(cuMemcpyAtoH, v2)
(Call& call, void* dst, CUarray src, std::size_t offset, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, dst, place_in(src, offset), bytes,
                    cudaMemcpyDeviceToHost);
}

BODY(cuMemcpyAtoHAsync, v2)
(Call& call, void* dst, CUarray src, std::size_t offset, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, dst, place_in(src, offset), bytes,
                    cudaMemcpyDeviceToHost);
}

BODY(cuMemcpyDtoA, v2)
(Call& call, CUarray dst, std::size_t offset, CUdeviceptr src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, place_in(dst, offset),
                    reinterpret_cast<const void*>(src), bytes, cudaMemcpyDeviceToDevice);
}

BODY(cuMemcpyAtoD, v2)
(Call& call, CUdeviceptr dst, CUarray src, std::size_t offset, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, reinterpret_cast<void*>(dst),
                    place_in(src, offset), bytes, cudaMemcpyDeviceToDevice);
}

BODY(cuMemcpyAtoA, v2)
(Call& call, CUarray dst, std::size_t dst_offset, CUarray src, std::size_t src_offset,
 std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, place_in(dst, dst_offset),
                    place_in(src, src_offset), bytes, cudaMemcpyDeviceToDevice);
}

}  // namespace simgpu::cuda
