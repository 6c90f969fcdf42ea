#include "tests/sim/engine/memory.hpp"

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/cuda/copy.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cuda {
namespace {

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// What a copy or a fill does is the same as for libcudart, and so are the error codes.
CUresult error_of(cudaError_t error) { return static_cast<CUresult>(error); }

CUresult submit(Call& call, Mode mode, CUstream handle, const cudart::Copy& copy) {
  Stream* stream = stream_of(call, handle);
  Work work;
  bool waits = false;
  const cudaError_t problem = cudart::copy_work(copy, work, waits);
  call.args().bytes = copy.width_bytes * copy.rows;
  call.args().address = reinterpret_cast<std::uint64_t>(copy.to);
  call.args().copy_kind = copy.kind;
  if (problem != cudaSuccess) {
    return error_of(problem);
  }
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  waits = waits || mode == Mode::synchronous;
  if (waits && stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Timeline::get().submit(*stream, std::move(work), call.number());
  if (waits) {
    Timeline::get().synchronize(*stream);
  }
  return CUDA_SUCCESS;
}

CUresult copy_box(Call& call, Mode mode, CUstream stream, const CUDA_MEMCPY2D* box) {
  if (box == nullptr || box->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
      box->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool from_host = box->srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = box->dstMemoryType == CU_MEMORYTYPE_HOST;
  const cudaMemcpyKind kinds[2][2] = {{cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToHost},
                                      {cudaMemcpyHostToDevice, cudaMemcpyHostToHost}};
  const auto* from =
      static_cast<const char*>(from_host ? box->srcHost : at(box->srcDevice)) + box->srcXInBytes;
  auto* to = static_cast<char*>(to_host ? box->dstHost : at(box->dstDevice)) + box->dstXInBytes;
  return submit(
      call, mode, stream,
      {to + box->dstY * box->dstPitch, from + box->srcY * box->srcPitch, box->WidthInBytes,
       box->Height, box->dstPitch, box->srcPitch, kinds[from_host ? 1 : 0][to_host ? 1 : 0]});
}

CUresult fill(Call& call, CUstream handle, CUdeviceptr to, unsigned value, std::size_t count,
              unsigned element_bytes) {
  Stream* stream = stream_of(call, handle);
  const std::size_t bytes = count * element_bytes;
  call.args().bytes = bytes;
  call.args().address = to;
  Work work;
  const cudaError_t problem =
      cudart::fill_work({at(to), bytes, 1, bytes, static_cast<int>(value), element_bytes}, work);
  if (problem != cudaSuccess) {
    return error_of(problem);
  }
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline::get().submit(*stream, std::move(work), call.number());
  return CUDA_SUCCESS;
}

CUresult write_value(Call& call, CUstream handle, CUdeviceptr to, cuuint32_t value) {
  Stream* stream = stream_of(call, handle);
  call.args().address = to;
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!memory::covers(at(to), sizeof value)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Work work;
  work.kind = WorkKind::marker;
  work.effect = [to, value] { *static_cast<cuuint32_t*>(at(to)) = value; };
  Timeline::get().submit(*stream, std::move(work), call.number());
  return CUDA_SUCCESS;
}

CUresult allocate(Call& call, void** out, std::size_t bytes, memory::Kind kind) {
  call.args().bytes = bytes;
  if (out == nullptr || bytes == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = memory::allocate(bytes, kind, current_device());
  call.args().address = reinterpret_cast<std::uint64_t>(*out);
  return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult allocate_on_device(Call& call, CUdeviceptr* out, std::size_t bytes) {
  void* address = nullptr;
  const CUresult result =
      allocate(call, out != nullptr ? &address : nullptr, bytes, memory::Kind::device);
  if (result == CUDA_SUCCESS) {
    *out = reinterpret_cast<CUdeviceptr>(address);
  }
  return result;
}

CUresult release(Call& call, void* address, bool host) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  // As in the real one, memory is given back once nothing uses it any more.
  Timeline::get().synchronize_device(current_device());
  return memory::release(address, host) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult copy_bytes(Call& call, Mode mode, CUstream stream, void* to, const void* from,
                    std::size_t bytes, cudaMemcpyKind kind) {
  return submit(call, mode, stream, {to, from, bytes, 1, bytes, bytes, kind});
}

BODY(cuMemcpy, v1)(Call& call, CUdeviceptr dst, CUdeviceptr src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, at(dst), at(src), bytes, cudaMemcpyDefault);
}

BODY(cuMemcpyAsync, v1)
(Call& call, CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, at(dst), at(src), bytes, cudaMemcpyDefault);
}

BODY(cuMemcpyHtoD, v2)(Call& call, CUdeviceptr dst, const void* src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, at(dst), src, bytes, cudaMemcpyHostToDevice);
}

BODY(cuMemcpyHtoDAsync, v2)
(Call& call, CUdeviceptr dst, const void* src, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, at(dst), src, bytes, cudaMemcpyHostToDevice);
}

BODY(cuMemcpyDtoH, v2)(Call& call, void* dst, CUdeviceptr src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, dst, at(src), bytes, cudaMemcpyDeviceToHost);
}

BODY(cuMemcpyDtoHAsync, v2)
(Call& call, void* dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, dst, at(src), bytes, cudaMemcpyDeviceToHost);
}

BODY(cuMemcpyDtoD, v2)(Call& call, CUdeviceptr dst, CUdeviceptr src, std::size_t bytes) {
  return copy_bytes(call, Mode::synchronous, nullptr, at(dst), at(src), bytes,
                    cudaMemcpyDeviceToDevice);
}

BODY(cuMemcpyDtoDAsync, v2)
(Call& call, CUdeviceptr dst, CUdeviceptr src, std::size_t bytes, CUstream stream) {
  return copy_bytes(call, Mode::asynchronous, stream, at(dst), at(src), bytes,
                    cudaMemcpyDeviceToDevice);
}

BODY(cuMemcpy2D, v2)(Call& call, const CUDA_MEMCPY2D* box) {
  return copy_box(call, Mode::synchronous, nullptr, box);
}

BODY(cuMemcpy2DAsync, v2)(Call& call, const CUDA_MEMCPY2D* box, CUstream stream) {
  return copy_box(call, Mode::asynchronous, stream, box);
}

BODY(cuMemsetD8, v2)(Call& call, CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill(call, nullptr, to, value, count, 1);
}

BODY(cuMemsetD32, v2)(Call& call, CUdeviceptr to, unsigned value, std::size_t count) {
  return fill(call, nullptr, to, value, count, 4);
}

BODY(cuMemsetD8Async, v1)
(Call& call, CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(call, stream, to, value, count, 1);
}

BODY(cuMemsetD32Async, v1)
(Call& call, CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(call, stream, to, value, count, 4);
}

BODY(cuStreamWriteValue32, v1)
(Call& call, CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return write_value(call, stream, to, value);
}

BODY(cuStreamWriteValue32, v2)
(Call& call, CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return write_value(call, stream, to, value);
}

BODY(cuMemAlloc, v2)(Call& call, CUdeviceptr* out, std::size_t bytes) {
  return allocate_on_device(call, out, bytes);
}

BODY(cuMemAllocAsync, v1)(Call& call, CUdeviceptr* out, std::size_t bytes, CUstream stream) {
  return stream_of(call, stream) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                            : allocate_on_device(call, out, bytes);
}

BODY(cuMemAllocHost, v2)(Call& call, void** out, std::size_t bytes) {
  return allocate(call, out, bytes, memory::Kind::pinned);
}

BODY(cuMemHostAlloc, v1)(Call& call, void** out, std::size_t bytes, unsigned) {
  return allocate(call, out, bytes, memory::Kind::pinned);
}

BODY(cuMemFree, v2)(Call& call, CUdeviceptr address) { return release(call, at(address), false); }

BODY(cuMemFree, v3)(Call& call, CUdeviceptr address, unsigned) {
  return release(call, at(address), false);
}

BODY(cuMemFreeAsync, v1)(Call& call, CUdeviceptr address, CUstream stream) {
  return stream_of(call, stream) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                            : release(call, at(address), false);
}

BODY(cuMemFreeHost, v1)(Call& call, void* address) { return release(call, address, true); }

}  // namespace simgpu::cuda
