#pragma once
// What is recorded of a driver call's arguments, where calls.hpp has nothing that fits.

#include <cuda.h>

#include <cstdint>
#include <type_traits>

#include "agent/door/calls.hpp"

namespace traceagent::door {

// What calls.hpp takes for granted of the driver's types.
static_assert(std::is_same_v<CUdeviceptr, unsigned long long>);
static_assert(static_cast<int>(CU_MEMCPY_OPERAND_TYPE_ARRAY) ==
              static_cast<int>(cudaMemcpyOperandTypeArray));

inline LaunchCall driver_launch_with_config(const CUlaunchConfig* config, CUfunction function) {
  if (config == nullptr) return {function, {}, {}, 0, nullptr};
  return {function,
          {config->gridDimX, config->gridDimY, config->gridDimZ},
          {config->blockDimX, config->blockDimY, config->blockDimZ},
          config->sharedMemBytes,
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
const void* driver_source(const Box& box) noexcept {
  if (box.srcMemoryType == CU_MEMORYTYPE_HOST) return box.srcHost;
  return box.srcMemoryType == CU_MEMORYTYPE_ARRAY ? box.srcArray : at(box.srcDevice);
}

template <class Box>
const void* driver_target(const Box& box) noexcept {
  if (box.dstMemoryType == CU_MEMORYTYPE_HOST) return box.dstHost;
  return box.dstMemoryType == CU_MEMORYTYPE_ARRAY ? box.dstArray : at(box.dstDevice);
}

inline CopyCall driver_copy_2d(const CUDA_MEMCPY2D* copy, CUstream stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  return {driver_target(*copy), driver_source(*copy), copy->WidthInBytes * copy->Height,
          copy_kind(copy->srcMemoryType, copy->dstMemoryType), stream};
}

template <class Box>
CopyCall driver_copy_3d(const Box* copy, CUstream stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  return {driver_target(*copy), driver_source(*copy),
          copy->WidthInBytes * copy->Height * copy->Depth,
          copy_kind(copy->srcMemoryType, copy->dstMemoryType), stream};
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
