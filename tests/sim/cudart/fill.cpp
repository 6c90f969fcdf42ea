#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

// The synchronous forms do not wait either: as documented, fills of device memory are asynchronous
// towards the host.
cudaError_t submit(Call& call, cudaStream_t handle, const Fill& fill) {
  Stream* stream = stream_of(call, handle);
  call.args().bytes = fill.width_bytes * fill.rows;
  call.args().address = reinterpret_cast<std::uint64_t>(fill.to);
  Work work;
  if (const cudaError_t problem = fill_work(fill, work)) {
    return problem;
  }
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  Timeline::get().submit(*stream, std::move(work), call.number());
  return cudaSuccess;
}

Fill box(const cudaPitchedPtr& to, int value, const cudaExtent& extent) {
  return {to.ptr, extent.width, extent.height * extent.depth, to.pitch, value};
}

}  // namespace

BODY(cudaMemset)(Call& call, void* to, int value, std::size_t bytes) {
  return submit(call, nullptr, {to, bytes, 1, bytes, value});
}

BODY(cudaMemsetAsync)(Call& call, void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return submit(call, stream, {to, bytes, 1, bytes, value});
}

BODY(cudaMemset2D)
(Call& call, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return submit(call, nullptr, {to, width, height, pitch, value});
}

BODY(cudaMemset2DAsync)
(Call& call, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
 cudaStream_t stream) {
  return submit(call, stream, {to, width, height, pitch, value});
}

BODY(cudaMemset3D)(Call& call, cudaPitchedPtr to, int value, cudaExtent extent) {
  return submit(call, nullptr, box(to, value, extent));
}

BODY(cudaMemset3DAsync)
(Call& call, cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return submit(call, stream, box(to, value, extent));
}

BODY(cudaMemPrefetchAsync)
(Call& call, const void* address, std::size_t bytes, cudaMemLocation, unsigned flags,
 cudaStream_t stream) {
  call.args().bytes = bytes;
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  if (flags != 0 || !memory::covers(address, bytes)) {
    return cudaErrorInvalidValue;
  }
  return stream_of(call, stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

}  // namespace simgpu::cudart
