#include "tests/sim/engine/device.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <set>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

// What programs ask for before they launch anything; a device like an H100.
constexpr std::pair<cudaDeviceAttr, int> attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxRegistersPerBlock, 65536},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrClockRate, 1980000},
    {cudaDevAttrMultiProcessorCount, 132},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrMemoryClockRate, 2619000},
    {cudaDevAttrGlobalMemoryBusWidth, 5120},
    {cudaDevAttrL2CacheSize, 52428800},
};

int attribute(cudaDeviceAttr wanted) {
  for (const auto& [key, value] : attributes) {
    if (key == wanted) {
      return value;
    }
  }
  return 0;
}

cudaDeviceProp properties_of(int device) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "Simulated GPU");
  p.uuid.bytes[0] = static_cast<char>(device);
  p.totalGlobalMem = script().device_memory_bytes;
  p.sharedMemPerBlock = 49152;
  p.regsPerBlock = 65536;
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = 9;
  p.multiProcessorCount = 132;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.pciBusID = device + 1;
  p.asyncEngineCount = 3;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = 5120;
  p.l2CacheSize = 52428800;
  p.maxThreadsPerMultiProcessor = 2048;
  p.sharedMemPerMultiprocessor = 233472;
  p.regsPerMultiprocessor = 65536;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = 232448;
  p.memoryPoolsSupported = 1;
  return p;
}

struct Settings {
  std::mutex mutex;
  std::map<int, std::size_t> limits;
  std::set<std::pair<int, int>> peers;
  unsigned flags = 0;
  cudaFuncCache cache = cudaFuncCachePreferNone;
};

Settings& settings() {
  static auto* instance = new Settings;
  return *instance;
}

template <class T>
cudaError_t give(T* out, T value) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = value;
  return cudaSuccess;
}

template <class T>
cudaError_t give_for(int device, T* out, T value) {
  return valid_device(device) ? give(out, value) : cudaErrorInvalidDevice;
}

cudaError_t no_driver_entry(void** function, cudaDriverEntryPointQueryResult* status) {
  if (function == nullptr) {
    return cudaErrorInvalidValue;
  }
  *function = nullptr;
  if (status != nullptr) {
    *status = cudaDriverEntryPointSymbolNotFound;
  }
  return cudaErrorSymbolNotFound;
}

}  // namespace

BODY(cudaGetDeviceCount)(Call&, int* count) {
  if (script().devices == 0) {
    return cudaErrorNoDevice;
  }
  return give(count, script().devices);
}

BODY(cudaSetDevice)(Call& call, int device) {
  call.args().device = device;
  if (!valid_device(device)) {
    return cudaErrorInvalidDevice;
  }
  set_current_device(device);
  return cudaSuccess;
}

BODY(cudaInitDevice)(Call& call, int device, unsigned, unsigned) {
  call.args().device = device;
  return valid_device(device) ? cudaSuccess : cudaErrorInvalidDevice;
}

BODY(cudaGetDevice)(Call& call, int* device) {
  call.args().device = current_device();
  return give(device, current_device());
}

BODY(cudaSetValidDevices)(Call&, int* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (!valid_device(devices[i])) {
      return cudaErrorInvalidDevice;
    }
  }
  return cudaSuccess;
}

BODY(cudaChooseDevice)(Call&, int* device, const cudaDeviceProp* wanted) {
  return wanted == nullptr ? cudaErrorInvalidValue : give(device, 0);
}

BODY(cudaSetDeviceFlags)(Call&, unsigned flags) {
  settings().flags = flags;
  return flags > cudaDeviceMask ? cudaErrorInvalidValue : cudaSuccess;
}

BODY(cudaGetDeviceFlags)(Call&, unsigned* flags) { return give(flags, settings().flags); }

BODY(cudaGetDeviceProperties)(Call& call, cudaDeviceProp* out, int device) {
  call.args().device = device;
  return give_for(device, out, properties_of(device));
}

BODY(cudaDeviceGetAttribute)(Call& call, int* value, cudaDeviceAttr wanted, int device) {
  call.args().device = device;
  const int known = wanted == cudaDevAttrPciBusId ? device + 1 : attribute(wanted);
  return give_for(device, value, known);
}

BODY(cudaDeviceGetP2PAttribute)(Call&, int* value, cudaDeviceP2PAttr, int from, int to) {
  return valid_device(from) && from != to ? give_for(to, value, 1) : cudaErrorInvalidDevice;
}

BODY(cudaDeviceSynchronize)(Call& call) {
  call.args().device = current_device();
  Timeline::get().synchronize_device(current_device());
  return cudaSuccess;
}

BODY(cudaDeviceReset)(Call& call) {
  call.args().device = current_device();
  Timeline::get().synchronize_device(current_device());
  activity::end_context(current_device());
  memory::release_device(current_device());
  return cudaSuccess;
}

BODY(cudaDeviceSetLimit)(Call&, cudaLimit limit, std::size_t value) {
  std::lock_guard lock(settings().mutex);
  settings().limits[limit] = value;
  return cudaSuccess;
}

BODY(cudaDeviceGetLimit)(Call&, std::size_t* value, cudaLimit limit) {
  std::lock_guard lock(settings().mutex);
  return give(value, settings().limits[limit]);
}

BODY(cudaDeviceSetCacheConfig)(Call&, cudaFuncCache config) {
  settings().cache = config;
  return cudaSuccess;
}

BODY(cudaDeviceGetCacheConfig)(Call&, cudaFuncCache* config) {
  return give(config, settings().cache);
}

BODY(cudaDeviceGetStreamPriorityRange)(Call&, int* least, int* greatest) {
  if (least != nullptr) {
    *least = 0;
  }
  if (greatest != nullptr) {
    *greatest = -5;
  }
  return cudaSuccess;
}

BODY(cudaDeviceGetPCIBusId)(Call&, char* text, int room, int device) {
  if (!valid_device(device)) {
    return cudaErrorInvalidDevice;
  }
  if (text == nullptr || room < 13) {
    return cudaErrorInvalidValue;
  }
  std::snprintf(text, static_cast<std::size_t>(room), "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

BODY(cudaDeviceGetByPCIBusId)(Call&, int* device, const char* text) {
  unsigned bus = 0;
  if (device == nullptr || text == nullptr || std::sscanf(text, "%*x:%x:", &bus) != 1) {
    return cudaErrorInvalidValue;
  }
  const int found = static_cast<int>(bus) - 1;
  return give_for(found, device, found);
}

BODY(cudaDeviceFlushGPUDirectRDMAWrites)
(Call&, cudaFlushGPUDirectRDMAWritesTarget, cudaFlushGPUDirectRDMAWritesScope) {
  return cudaSuccess;
}

BODY(cudaDeviceCanAccessPeer)(Call&, int* can, int device, int peer) {
  return valid_device(peer) ? give_for(device, can, device == peer ? 0 : 1)
                            : cudaErrorInvalidDevice;
}

BODY(cudaDeviceEnablePeerAccess)(Call& call, int peer, unsigned flags) {
  call.args().peer = peer;
  if (!valid_device(peer) || peer == current_device()) {
    return cudaErrorInvalidDevice;
  }
  if (flags != 0) {
    return cudaErrorInvalidValue;
  }
  std::lock_guard lock(settings().mutex);
  const bool added = settings().peers.emplace(current_device(), peer).second;
  return added ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
}

BODY(cudaDeviceDisablePeerAccess)(Call& call, int peer) {
  call.args().peer = peer;
  std::lock_guard lock(settings().mutex);
  const bool removed = settings().peers.erase({current_device(), peer}) != 0;
  return removed ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}

BODY(cudaDriverGetVersion)(Call&, int* out) { return give(out, cudart_major * 1000); }

BODY(cudaRuntimeGetVersion)(Call&, int* out) { return give(out, cudart_major * 1000); }

BODY(cudaGetDriverEntryPoint)
(Call&, const char*, void** function, unsigned long long, cudaDriverEntryPointQueryResult* status) {
  return no_driver_entry(function, status);
}

BODY(cudaGetDriverEntryPointByVersion)
(Call&, const char*, void** function, unsigned, unsigned long long,
 cudaDriverEntryPointQueryResult* status) {
  return no_driver_entry(function, status);
}

BODY(cudaProfilerStart)(Call&) { return cudaSuccess; }

BODY(cudaProfilerStop)(Call&) { return cudaSuccess; }

}  // namespace simgpu::cudart
