#pragma once
// What is recorded of a driver call's arguments, where calls.hpp has nothing that fits.

#include <cuda.h>

#include <cstdint>

#include "agent/door/calls.hpp"

namespace traceagent::door {

inline const void* at(CUdeviceptr address) noexcept {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
}

inline LaunchCall driver_launch_with_config(const CUlaunchConfig* config, CUfunction function) {
  if (config == nullptr) return {function, dim3(0, 0, 0), dim3(0, 0, 0), 0, nullptr};
  return {function, dim3(config->gridDimX, config->gridDimY, config->gridDimZ),
          dim3(config->blockDimX, config->blockDimY, config->blockDimZ), config->sharedMemBytes,
          config->hStream};
}

inline cudaMemcpyKind copy_kind(CUmemorytype from, CUmemorytype to) noexcept {
  if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  if (from == CU_MEMORYTYPE_HOST) {
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  }
  return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// The forms of boxes have the same members. Which of them counts is said by the memory's type.
template <class Box>
const void* box_source(const Box& box) noexcept {
  if (box.srcMemoryType == CU_MEMORYTYPE_HOST) return box.srcHost;
  return box.srcMemoryType == CU_MEMORYTYPE_ARRAY ? box.srcArray : at(box.srcDevice);
}

template <class Box>
const void* box_target(const Box& box) noexcept {
  if (box.dstMemoryType == CU_MEMORYTYPE_HOST) return box.dstHost;
  return box.dstMemoryType == CU_MEMORYTYPE_ARRAY ? box.dstArray : at(box.dstDevice);
}

inline CopyCall driver_copy_2d(const CUDA_MEMCPY2D* copy, CUstream stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  return {box_target(*copy), box_source(*copy), copy->WidthInBytes * copy->Height,
          copy_kind(copy->srcMemoryType, copy->dstMemoryType), stream};
}

template <class Box>
CopyCall driver_copy_3d(const Box* copy, CUstream stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  return {box_target(*copy), box_source(*copy), copy->WidthInBytes * copy->Height * copy->Depth,
          copy_kind(copy->srcMemoryType, copy->dstMemoryType), stream};
}

inline const void* first_of(const CUdeviceptr* list, std::size_t count) noexcept {
  return list != nullptr && count > 0 ? at(list[0]) : nullptr;
}

inline CopyCall driver_copy_batch(const CUdeviceptr* dsts, const CUdeviceptr* srcs,
                                  const std::size_t* sizes, std::size_t count,
                                  CUstream stream) noexcept {
  return {first_of(dsts, count), first_of(srcs, count), sum_of(sizes, count), cudaMemcpyDefault,
          stream};
}

inline const void* operand_address(const CUmemcpy3DOperand& operand) noexcept {
  const bool is_pointer = operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
  return is_pointer ? at(operand.op.ptr.ptr) : operand.op.array.array;
}

inline CopyCall driver_copy_batch_3d(const CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t count,
                                     CUstream stream) noexcept {
  if (copies == nullptr || count == 0) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const CUextent3D& extent = copies[i].extent;
    bytes += extent.width * extent.height * extent.depth;
  }
  return {operand_address(copies->dst), operand_address(copies->src), bytes, cudaMemcpyDefault,
          stream};
}

inline SetCall driver_set_batch(const CUdeviceptr* pointers, const std::size_t* sizes,
                                std::size_t count, CUstream stream) noexcept {
  return {first_of(pointers, count), 0, sum_of(sizes, count), stream};
}

// As AllocationCall, for the driver's type of device addresses.
struct DeviceAllocationCall : CallBase {
  static constexpr CallClass call_class = CallClass::memory;
  const CUdeviceptr* pointer;
  std::size_t bytes;
  CUstream stream;

  DeviceAllocationCall(const CUdeviceptr* result, std::size_t size, CUstream on)
      : pointer(result), bytes(size), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::allocation;
    record.args[2] = bytes;
    record.args[3] = bits(stream);
  }
  void finish(Record& record, int result) const noexcept {
    if (result == CUDA_SUCCESS && pointer != nullptr) record.args[0] = *pointer;
  }
};

}  // namespace traceagent::door
