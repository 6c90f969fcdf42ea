#include <map>
#include <mutex>
#include <set>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {
namespace {

struct Pool {
  int device = 0;
  std::map<cudaMemPoolAttr, std::uint64_t> attributes;
};

struct Pools {
  std::mutex mutex;
  std::set<Pool*> known;
  std::map<int, Pool*> standard;  // cudaDeviceGetDefaultMemPool
  std::map<int, Pool*> current;
};

Pools& pools() {
  static auto* instance = new Pools;
  return *instance;
}

Pool* add_pool(int device) {
  auto* pool = new Pool;
  pool->device = device;
  pools().known.insert(pool);
  return pool;
}

Pool* standard_pool(int device) {
  std::lock_guard lock(pools().mutex);
  Pool*& pool = pools().standard[device];
  return pool != nullptr ? pool : pool = add_pool(device);
}

Pool* current_pool(int device) {
  {
    std::lock_guard lock(pools().mutex);
    if (const auto set = pools().current.find(device); set != pools().current.end()) {
      return set->second;
    }
  }
  return standard_pool(device);
}

Pool* pool_of(cudaMemPool_t handle) {
  auto* pool = reinterpret_cast<Pool*>(handle);
  std::lock_guard lock(pools().mutex);
  return pools().known.contains(pool) ? pool : nullptr;
}

bool is_size(cudaMemPoolAttr attribute) { return attribute >= cudaMemPoolAttrReleaseThreshold; }

cudaError_t give(cudaMemPool_t* out, int device, Pool* (*which)(int)) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (!valid_device(device)) {
    return cudaErrorInvalidDevice;
  }
  *out = reinterpret_cast<cudaMemPool_t>(which(device));
  return cudaSuccess;
}

cudaError_t set_pool(int device, cudaMemPool_t handle) {
  Pool* pool = pool_of(handle);
  if (pool == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (!valid_device(device)) {
    return cudaErrorInvalidDevice;
  }
  std::lock_guard lock(pools().mutex);
  pools().current[device] = pool;
  return cudaSuccess;
}

cudaError_t allocate(Call& call, void** out, std::size_t bytes, Pool* pool, cudaStream_t handle) {
  call.args().bytes = bytes;
  if (stream_of(call, handle) == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (out == nullptr || pool == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out =
      bytes == 0 ? nullptr : memory::allocate(bytes, memory::Kind::device, pool->device, 0, pool);
  call.args().address = reinterpret_cast<std::uint64_t>(*out);
  return *out == nullptr && bytes != 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}

}  // namespace

BODY(cudaMallocAsync)(Call& call, void** out, std::size_t bytes, cudaStream_t stream) {
  return allocate(call, out, bytes, current_pool(current_device()), stream);
}

BODY(cudaMallocFromPoolAsync)
(Call& call, void** out, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate(call, out, bytes, pool_of(pool), stream);
}

BODY(cudaFreeAsync)(Call& call, void* address, cudaStream_t handle) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  if (stream_of(call, handle) == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const auto block = memory::find(address);
  call.args().bytes = block ? block->bytes : 0;
  // Kernels compute nothing here, so nobody can see that the memory goes before the stream gets
  // there.
  return memory::release(address, false) ? cudaSuccess : cudaErrorInvalidValue;
}

BODY(cudaMemPoolCreate)(Call&, cudaMemPool_t* out, const cudaMemPoolProps* properties) {
  if (out == nullptr || properties == nullptr) {
    return cudaErrorInvalidValue;
  }
  std::lock_guard lock(pools().mutex);
  *out = reinterpret_cast<cudaMemPool_t>(add_pool(properties->location.id));
  return cudaSuccess;
}

BODY(cudaMemPoolDestroy)(Call&, cudaMemPool_t handle) {
  Pool* pool = pool_of(handle);
  if (pool == nullptr) {
    return cudaErrorInvalidValue;
  }
  std::lock_guard lock(pools().mutex);
  std::erase_if(pools().current, [pool](const auto& entry) { return entry.second == pool; });
  pools().known.erase(pool);
  return cudaSuccess;
}

BODY(cudaMemPoolTrimTo)(Call&, cudaMemPool_t pool, std::size_t) {
  return pool_of(pool) == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

BODY(cudaMemPoolSetAttribute)(Call&, cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = pool_of(handle);
  if (pool == nullptr || value == nullptr) {
    return cudaErrorInvalidValue;
  }
  pool->attributes[attribute] = is_size(attribute)
                                    ? *static_cast<std::uint64_t*>(value)
                                    : static_cast<std::uint64_t>(*static_cast<int*>(value));
  return cudaSuccess;
}

BODY(cudaMemPoolGetAttribute)(Call&, cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  Pool* pool = pool_of(handle);
  if (pool == nullptr || value == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (is_size(attribute)) {
    *static_cast<std::uint64_t*>(value) = pool->attributes[attribute];
  } else {
    *static_cast<int*>(value) = static_cast<int>(pool->attributes[attribute]);
  }
  return cudaSuccess;
}

BODY(cudaMemPoolSetAccess)
(Call&, cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t) {
  return pool_of(pool) == nullptr || access == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

BODY(cudaMemPoolGetAccess)(Call&, cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation*) {
  if (pool_of(pool) == nullptr || flags == nullptr) {
    return cudaErrorInvalidValue;
  }
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

BODY(cudaDeviceGetDefaultMemPool)(Call&, cudaMemPool_t* out, int device) {
  return give(out, device, standard_pool);
}

BODY(cudaDeviceGetMemPool)(Call&, cudaMemPool_t* out, int device) {
  return give(out, device, current_pool);
}

BODY(cudaDeviceSetMemPool)(Call&, int device, cudaMemPool_t pool) { return set_pool(device, pool); }

BODY(cudaMemGetDefaultMemPool)
(Call&, cudaMemPool_t* out, cudaMemLocation* location, cudaMemAllocationType) {
  return location == nullptr ? cudaErrorInvalidValue : give(out, location->id, standard_pool);
}

BODY(cudaMemGetMemPool)
(Call&, cudaMemPool_t* out, cudaMemLocation* location, cudaMemAllocationType) {
  return location == nullptr ? cudaErrorInvalidValue : give(out, location->id, current_pool);
}

BODY(cudaMemSetMemPool)
(Call&, cudaMemLocation* location, cudaMemAllocationType, cudaMemPool_t pool) {
  return location == nullptr ? cudaErrorInvalidValue : set_pool(location->id, pool);
}

}  // namespace simgpu::cudart
