#include "tests/sim/engine/device.hpp"

#include <array>
#include <atomic>
#include <cstdio>

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cuda {
namespace {

constexpr int most_devices = 64;
std::array<std::atomic<bool>, most_devices> primary_in_use{};

// A device like an H100.
struct Attribute {
  CUdevice_attribute key;
  int value;
};
constexpr Attribute attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
};

int device_of(CUcontext context) {
  return activity::device_of_context(activity::context_of_handle(context));
}

template <class T>
CUresult give_for(int device, T* out, T value) {
  if (!valid_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = value;
  return CUDA_SUCCESS;
}

CUresult synchronize(Call& call, int device) {
  call.args().device = device;
  Timeline::get().synchronize_device(device);
  return CUDA_SUCCESS;
}

}  // namespace

bool valid_device(int device) { return device >= 0 && device < script().devices; }

CUcontext context_of(int device) {
  return static_cast<CUcontext>(activity::context_handle(activity::context_of(device)));
}

void use_primary_context(int device) { primary_in_use[static_cast<std::size_t>(device)] = true; }

BODY(cuDeviceGet, v1)(Call&, CUdevice* device, int number) {
  return give_for(number, device, number);
}

BODY(cuDeviceGetCount, v1)(Call&, int* count) {
  if (count == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *count = script().devices;
  return CUDA_SUCCESS;
}

BODY(cuDeviceGetName, v1)(Call&, char* text, int room, CUdevice device) {
  if (!valid_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (text == nullptr || room <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::snprintf(text, static_cast<std::size_t>(room), "Simulated GPU");
  return CUDA_SUCCESS;
}

BODY(cuDeviceGetUuid, v2)(Call&, CUuuid* uuid, CUdevice device) {
  CUuuid own{};
  own.bytes[0] = static_cast<char>(device);
  return give_for(device, uuid, own);
}

BODY(cuDeviceTotalMem, v2)(Call&, std::size_t* bytes, CUdevice device) {
  return give_for(device, bytes, std::size_t{script().device_memory_bytes});
}

BODY(cuDeviceGetAttribute, v1)(Call&, int* value, CUdevice_attribute wanted, CUdevice device) {
  for (const Attribute& attribute : attributes) {
    if (attribute.key == wanted) {
      return give_for(device, value, attribute.value);
    }
  }
  return give_for(device, value, wanted == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : 0);
}

BODY(cuDevicePrimaryCtxRetain, v1)(Call&, CUcontext* context, CUdevice device) {
  if (!valid_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  use_primary_context(device);
  return give_for(device, context, context_of(device));
}

BODY(cuDevicePrimaryCtxRelease, v2)(Call&, CUdevice device) {
  return valid_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

BODY(cuDevicePrimaryCtxGetState, v1)(Call&, CUdevice device, unsigned* flags, int* active) {
  if (!valid_device(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  const bool used = primary_in_use[static_cast<std::size_t>(device)];
  const CUresult result = give_for(device, flags, 0U);
  return result == CUDA_SUCCESS ? give_for(device, active, used ? 1 : 0) : result;
}

BODY(cuCtxGetCurrent, v1)(Call&, CUcontext* context) {
  return give_for(current_device(), context, context_of(current_device()));
}

BODY(cuCtxSetCurrent, v1)(Call&, CUcontext context) {
  const int device = device_of(context);
  if (device < 0) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  set_current_device(device);
  return CUDA_SUCCESS;
}

BODY(cuCtxGetDevice, v1)(Call&, CUdevice* device) {
  return give_for(current_device(), device, current_device());
}

BODY(cuCtxSynchronize, v1)(Call& call) { return synchronize(call, current_device()); }

BODY(cuCtxSynchronize, v2)(Call& call, CUcontext context) {
  const int device = context == nullptr ? current_device() : device_of(context);
  return device < 0 ? CUDA_ERROR_INVALID_CONTEXT : synchronize(call, device);
}

}  // namespace simgpu::cuda
