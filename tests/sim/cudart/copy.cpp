#include "tests/sim/cudart/array.hpp"
#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/registration.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

enum class Mode { synchronous, asynchronous };

cudaError_t submit(Call& call, Mode mode, cudaStream_t handle, const Copy& copy) {
  Stream* stream = stream_of(call, handle);
  Work work;
  bool waits = false;
  const cudaError_t problem = copy_work(copy, work, waits);
  call.args().bytes = copy.width_bytes * copy.rows;
  call.args().address = reinterpret_cast<std::uint64_t>(copy.to);
  call.args().copy_kind = copy.kind;
  if (problem != cudaSuccess) {
    return problem;
  }
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const bool captured = stream->capture != nullptr;
  if (captured && (mode == Mode::synchronous || waits)) {
    return cudaErrorStreamCaptureUnsupported;
  }
  Timeline::get().submit(*stream, std::move(work), call.number());
  if (mode == Mode::synchronous || waits) {
    Timeline::get().synchronize(*stream);
  }
  return cudaSuccess;
}

Copy plain(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return {to, from, bytes, 1, bytes, bytes, kind};
}

cudaError_t copy_symbol(Call& call, Mode mode, cudaStream_t stream, const void* symbol,
                        std::size_t offset, void* to, const void* from, std::size_t bytes,
                        cudaMemcpyKind kind) {
  const Variable* variable = variable_of(symbol);
  if (variable == nullptr) {
    return cudaErrorInvalidSymbol;
  }
  if (offset + bytes > variable->bytes) {
    return cudaErrorInvalidValue;
  }
  char* place = static_cast<char*>(variable->address) + offset;
  return submit(call, mode, stream,
                plain(to == nullptr ? place : to, from == nullptr ? place : from, bytes, kind));
}

Copy to_array(cudaArray_t handle, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
              std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const Array& array = *array_of(handle);
  const std::size_t row = array.row_bytes();
  return {array.base + y * row + x, from, width, height, row, pitch, kind};
}

Copy from_array(void* to, std::size_t pitch, cudaArray_const_t handle, std::size_t x, std::size_t y,
                std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const Array& array = *array_of(handle);
  const std::size_t row = array.row_bytes();
  return {to, array.base + y * row + x, width, height, pitch, row, kind};
}

// Slices lie behind each other, so that a box that spans whole slices is a run of rows.
Copy box(const cudaMemcpy3DParms& p) {
  Copy copy;
  const Array* to = p.dstArray == nullptr ? nullptr : array_of(p.dstArray);
  const Array* from = p.srcArray == nullptr ? nullptr : array_of(p.srcArray);
  const Array* either = to != nullptr ? to : from;
  copy.width_bytes = p.extent.width * (either != nullptr ? either->element_bytes() : 1);
  copy.rows = p.extent.height * p.extent.depth;
  copy.to = to != nullptr ? to->base : p.dstPtr.ptr;
  copy.from = from != nullptr ? from->base : p.srcPtr.ptr;
  copy.to_pitch = to != nullptr ? to->row_bytes() : p.dstPtr.pitch;
  copy.from_pitch = from != nullptr ? from->row_bytes() : p.srcPtr.pitch;
  copy.kind = p.kind;
  return copy;
}

// The sides of an operand are those of a box; rows of pointers may be packed.
void put(const cudaMemcpy3DOperand& operand, const cudaExtent& extent, cudaArray_t& array,
         cudaPitchedPtr& pointer) {
  if (operand.type == cudaMemcpyOperandTypeArray) {
    array = operand.op.array.array;
    return;
  }
  const std::size_t row = operand.op.ptr.rowLength;
  pointer = {operand.op.ptr.ptr, row != 0 ? row : extent.width, extent.width, extent.height};
}

Copy box(const cudaMemcpy3DBatchOp& operation) {
  cudaMemcpy3DParms same{};
  same.extent = operation.extent;
  same.kind = cudaMemcpyDefault;
  put(operation.src, operation.extent, same.srcArray, same.srcPtr);
  put(operation.dst, operation.extent, same.dstArray, same.dstPtr);
  const Array* either = same.dstArray != nullptr   ? array_of(same.dstArray)
                        : same.srcArray != nullptr ? array_of(same.srcArray)
                                                   : nullptr;
  if (either != nullptr) {  // lengths of rows are in elements, pitches in bytes
    same.srcPtr.pitch *= either->element_bytes();
    same.dstPtr.pitch *= either->element_bytes();
  }
  return box(same);
}

Copy box(const cudaMemcpy3DPeerParms& p) {
  cudaMemcpy3DParms same{};
  same.dstArray = p.dstArray;
  same.srcArray = p.srcArray;
  same.dstPtr = p.dstPtr;
  same.srcPtr = p.srcPtr;
  same.extent = p.extent;
  same.kind = cudaMemcpyDeviceToDevice;
  return box(same);
}

}  // namespace

Copy box_of(const cudaMemcpy3DParms& parameters) { return box(parameters); }

BODY(cudaMemcpy)(Call& call, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return submit(call, Mode::synchronous, nullptr, plain(to, from, bytes, kind));
}

BODY(cudaMemcpyAsync)
(Call& call, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
 cudaStream_t stream) {
  return submit(call, Mode::asynchronous, stream, plain(to, from, bytes, kind));
}

BODY(cudaMemcpyPeer)(Call& call, void* to, int, const void* from, int, std::size_t bytes) {
  return submit(call, Mode::synchronous, nullptr, plain(to, from, bytes, cudaMemcpyDeviceToDevice));
}

BODY(cudaMemcpyPeerAsync)
(Call& call, void* to, int, const void* from, int, std::size_t bytes, cudaStream_t stream) {
  return submit(call, Mode::asynchronous, stream, plain(to, from, bytes, cudaMemcpyDeviceToDevice));
}

BODY(cudaMemcpyBatchAsync)
(Call& call, void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count,
 cudaMemcpyAttributes*, std::size_t*, std::size_t, cudaStream_t stream) {
  if (to == nullptr || from == nullptr || bytes == nullptr || count == 0) {
    return cudaErrorInvalidValue;
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Copy copy = plain(to[i], from[i], bytes[i], cudaMemcpyDefault);
    if (const cudaError_t problem = submit(call, Mode::asynchronous, stream, copy)) {
      return problem;
    }
    total += bytes[i];
  }
  call.args().bytes = total;
  call.args().count = count;
  return cudaSuccess;
}

BODY(cudaMemcpy3DBatchAsync)
(Call& call, std::size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long flags,
 cudaStream_t stream) {
  if (operations == nullptr || count == 0 || flags != 0) {
    return cudaErrorInvalidValue;
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Copy copy = box(operations[i]);
    if (const cudaError_t problem = submit(call, Mode::asynchronous, stream, copy)) {
      return problem;
    }
    total += copy.width_bytes * copy.rows;
  }
  call.args().bytes = total;
  call.args().count = count;
  return cudaSuccess;
}

BODY(cudaMemcpy2D)
(Call& call, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
 std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  return submit(call, Mode::synchronous, nullptr,
                {to, from, width, height, to_pitch, from_pitch, kind});
}

BODY(cudaMemcpy2DAsync)
(Call& call, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
 std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return submit(call, Mode::asynchronous, stream,
                {to, from, width, height, to_pitch, from_pitch, kind});
}

BODY(cudaMemcpy2DToArray)
(Call& call, cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
 std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (to == nullptr) {
    return cudaErrorInvalidValue;
  }
  return submit(call, Mode::synchronous, nullptr,
                to_array(to, x, y, from, pitch, width, height, kind));
}

BODY(cudaMemcpy2DToArrayAsync)
(Call& call, cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
 std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (to == nullptr) {
    return cudaErrorInvalidValue;
  }
  return submit(call, Mode::asynchronous, stream,
                to_array(to, x, y, from, pitch, width, height, kind));
}

BODY(cudaMemcpy2DFromArray)
(Call& call, void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
 std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  if (from == nullptr) {
    return cudaErrorInvalidValue;
  }
  return submit(call, Mode::synchronous, nullptr,
                from_array(to, pitch, from, x, y, width, height, kind));
}

BODY(cudaMemcpy2DFromArrayAsync)
(Call& call, void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
 std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  if (from == nullptr) {
    return cudaErrorInvalidValue;
  }
  return submit(call, Mode::asynchronous, stream,
                from_array(to, pitch, from, x, y, width, height, kind));
}

BODY(cudaMemcpyToSymbol)
(Call& call, const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
 cudaMemcpyKind kind) {
  return copy_symbol(call, Mode::synchronous, nullptr, symbol, offset, nullptr, from, bytes, kind);
}

BODY(cudaMemcpyToSymbolAsync)
(Call& call, const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
 cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(call, Mode::asynchronous, stream, symbol, offset, nullptr, from, bytes, kind);
}

BODY(cudaMemcpyFromSymbol)
(Call& call, void* to, const void* symbol, std::size_t bytes, std::size_t offset,
 cudaMemcpyKind kind) {
  return copy_symbol(call, Mode::synchronous, nullptr, symbol, offset, to, nullptr, bytes, kind);
}

BODY(cudaMemcpyFromSymbolAsync)
(Call& call, void* to, const void* symbol, std::size_t bytes, std::size_t offset,
 cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(call, Mode::asynchronous, stream, symbol, offset, to, nullptr, bytes, kind);
}

BODY(cudaMemcpy3D)(Call& call, const cudaMemcpy3DParms* p) {
  return p == nullptr ? cudaErrorInvalidValue : submit(call, Mode::synchronous, nullptr, box(*p));
}

BODY(cudaMemcpy3DAsync)(Call& call, const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return p == nullptr ? cudaErrorInvalidValue : submit(call, Mode::asynchronous, stream, box(*p));
}

BODY(cudaMemcpy3DPeer)(Call& call, const cudaMemcpy3DPeerParms* p) {
  return p == nullptr ? cudaErrorInvalidValue : submit(call, Mode::synchronous, nullptr, box(*p));
}

BODY(cudaMemcpy3DPeerAsync)(Call& call, const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return p == nullptr ? cudaErrorInvalidValue : submit(call, Mode::asynchronous, stream, box(*p));
}

}  // namespace simgpu::cudart
