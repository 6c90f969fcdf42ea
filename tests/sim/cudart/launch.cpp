#include <algorithm>
#include <vector>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/kernels.hpp"
#include "tests/sim/engine/misuse.hpp"
#include "tests/sim/engine/timeline.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu::cudart {
namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

thread_local std::vector<Configuration> configurations;

constexpr unsigned max_block_threads = 1024;
constexpr std::size_t max_shared_bytes = 227 * 1024;

bool valid(const dim3& grid, const dim3& block, std::size_t shared_bytes) {
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  const bool empty = std::uint64_t{grid.x} * grid.y * grid.z == 0 || threads == 0;
  return !empty && threads <= max_block_threads && block.z <= 64 && grid.y <= 65535 &&
         grid.z <= 65535 && shared_bytes <= max_shared_bytes;
}

void note(Record& record, const Work& work) {
  record.name = work.name;
  record.shared_bytes = work.shared_bytes;
  std::copy_n(work.grid, 3, record.grid);
  std::copy_n(work.block, 3, record.block);
}

cudaError_t launch(Call& call, const void* function, dim3 grid, dim3 block,
                   std::size_t shared_bytes, cudaStream_t handle, dim3 cluster = {0, 0, 0}) {
  Work work;
  std::copy_n(&cluster.x, 3, work.cluster);
  const cudaError_t problem = kernel_work(function, grid, block, shared_bytes, work);
  note(call.args(), work);
  Stream* stream = stream_of(call, handle);
  if (problem != cudaSuccess) {
    return problem;
  }
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const int result = driver::launch_kernel(handle, call.per_thread(), work, call.number());
  if (result < 0) {
    Timeline::get().submit(*stream, std::move(work), call.number());
  }
  return result < 0 ? cudaSuccess : static_cast<cudaError_t>(result);
}

dim3 cluster_of(const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) {
      const auto& wanted = config.attrs[i].val.clusterDim;
      return {wanted.x, wanted.y, wanted.z};
    }
  }
  return {0, 0, 0};
}

cudaError_t attributes_of(const void* function, cudaFuncAttributes* out) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (kernels::find(function) == nullptr) {
    return cudaErrorInvalidDeviceFunction;
  }
  *out = {};
  out->maxThreadsPerBlock = static_cast<int>(max_block_threads);
  out->numRegs = static_cast<int>(kernels::find(function)->registers);
  out->ptxVersion = 90;
  out->binaryVersion = 90;
  out->maxDynamicSharedSizeBytes = 48 * 1024;
  out->preferredShmemCarveout = -1;
  return cudaSuccess;
}

cudaError_t known(const void* function) {
  return kernels::find(function) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

cudaError_t occupancy(int* blocks, const void* function, int block_size) {
  if (blocks == nullptr || block_size <= 0) {
    return cudaErrorInvalidValue;
  }
  *blocks = std::max(1, 2048 / block_size);
  return known(function);
}

}  // namespace

cudaError_t kernel_work(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                        Work& work) {
  const Kernel* kernel = kernels::find(function);
  if (kernel == nullptr) {
    return cudaErrorInvalidDeviceFunction;
  }
  work.kind = WorkKind::kernel;
  work.name = truth::name_id(kernel->name);
  work.duration_ns = kernel->duration_ns;
  work.registers = kernel->registers;
  work.shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  std::copy_n(&grid.x, 3, work.grid);
  std::copy_n(&block.x, 3, work.block);
  return valid(grid, block, shared_bytes) ? cudaSuccess : cudaErrorInvalidConfiguration;
}

BODY(cudaLaunchKernel)
(Call& call, const void* function, dim3 grid, dim3 block, void**, std::size_t shared_bytes,
 cudaStream_t stream) {
  return launch(call, function, grid, block, shared_bytes, stream);
}

BODY(cudaLaunchCooperativeKernel)
(Call& call, const void* function, dim3 grid, dim3 block, void**, std::size_t shared_bytes,
 cudaStream_t stream) {
  return launch(call, function, grid, block, shared_bytes, stream);
}

BODY(cudaLaunchKernelExC)
(Call& call, const cudaLaunchConfig_t* config, const void* function, void**) {
  if (config == nullptr) {
    return cudaErrorInvalidValue;
  }
  return launch(call, function, config->gridDim, config->blockDim, config->dynamicSmemBytes,
                config->stream, cluster_of(*config));
}

BODY(cudaFuncGetAttributes)(Call&, cudaFuncAttributes* attributes, const void* function) {
  return attributes_of(function, attributes);
}

BODY(cudaFuncSetAttribute)(Call&, const void* function, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
      value > static_cast<int>(max_shared_bytes)) {
    return cudaErrorInvalidValue;
  }
  return known(function);
}

BODY(cudaFuncSetCacheConfig)(Call&, const void* function, cudaFuncCache) { return known(function); }

BODY(cudaFuncSetSharedMemConfig)(Call&, const void* function, cudaSharedMemConfig) {
  return known(function);
}

BODY(cudaFuncGetName)(Call&, const char** name, const void* function) {
  const Kernel* kernel = kernels::find(function);
  if (kernel == nullptr) {
    return cudaErrorInvalidDeviceFunction;
  }
  if (name == nullptr) {
    return cudaErrorInvalidValue;
  }
  *name = kernel->name.c_str();
  return cudaSuccess;
}

BODY(cudaGetFuncBySymbol)(Call&, cudaFunction_t* out, const void* symbol) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = reinterpret_cast<cudaFunction_t>(kernels::find(symbol));
  return known(symbol);
}

BODY(cudaGetKernel)(Call&, cudaKernel_t* out, const void* symbol) {
  if (out == nullptr) {
    return cudaErrorInvalidValue;
  }
  *out = reinterpret_cast<cudaKernel_t>(kernels::find(symbol));
  return known(symbol);
}

BODY(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
(Call&, int* blocks, const void* function, int block_size, std::size_t) {
  return occupancy(blocks, function, block_size);
}

BODY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(Call&, int* blocks, const void* function, int block_size, std::size_t, unsigned) {
  return occupancy(blocks, function, block_size);
}

BODY(cudaOccupancyAvailableDynamicSMemPerBlock)
(Call&, std::size_t* bytes, const void* function, int blocks, int) {
  if (bytes == nullptr || blocks <= 0) {
    return cudaErrorInvalidValue;
  }
  *bytes = max_shared_bytes / static_cast<std::size_t>(blocks);
  return known(function);
}

BODY(cudaOccupancyMaxPotentialClusterSize)
(Call&, int* size, const void* function, const cudaLaunchConfig_t* config) {
  if (size == nullptr || config == nullptr) {
    return cudaErrorInvalidValue;
  }
  *size = 8;
  return known(function);
}

BODY(cudaOccupancyMaxActiveClusters)
(Call&, int* count, const void* function, const cudaLaunchConfig_t* config) {
  if (count == nullptr || config == nullptr) {
    return cudaErrorInvalidValue;
  }
  *count = 16;
  return known(function);
}

namespace {

cudaError_t launch_handle(Call& call, cudaKernel_t kernel, dim3 grid, dim3 block,
                          std::size_t shared_bytes, cudaStream_t stream) {
  if (!kernels::is_handle(kernel)) {
    misuse("__cudaLaunchKernel", "not a handle that __cudaGetKernel gave");
  }
  return launch(call, kernel, grid, block, shared_bytes, stream);
}

cudaError_t get_kernel(cudaKernel_t* out, const void* host_function) {
  *out = reinterpret_cast<cudaKernel_t>(kernels::find(host_function));
  return known(host_function);
}

unsigned push(const Configuration& configuration) {
  configurations.push_back(configuration);
  return 0;
}

cudaError_t pop(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  if (configurations.empty()) {
    misuse("__cudaPopCallConfiguration", "called once more than __cudaPushCallConfiguration");
  }
  const Configuration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}

}  // namespace
}  // namespace simgpu::cudart

#define EXPORT extern "C" __attribute__((visibility("default")))
#define INTERNAL_CALL(name, variant)                                                               \
  simgpu::Call call(simgpu::Function{simgpu::Library::cudart, simgpu::cudart::Number::name, #name, \
                                     simgpu::Variant::variant, simgpu::cudart::cudart_major});     \
  const auto finish = [&](auto body) {                                                             \
    return call.finish(                                                                            \
        simgpu::cudart::keep(simgpu::cudart::Number::name, simgpu::cudart::run(call, body)));      \
  }

EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  INTERNAL_CALL(__cudaGetKernel, plain);
  return finish([&] { return simgpu::cudart::get_kernel(kernel, host_function); });
}

EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**,
                                      std::size_t shared_bytes, cudaStream_t stream) {
  INTERNAL_CALL(__cudaLaunchKernel, plain);
  return finish([&] {
    return simgpu::cudart::launch_handle(call, kernel, grid, block, shared_bytes, stream);
  });
}

EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void**,
                                           std::size_t shared_bytes, cudaStream_t stream) {
  INTERNAL_CALL(__cudaLaunchKernel, per_thread_stream);
  return finish([&] {
    return simgpu::cudart::launch_handle(call, kernel, grid, block, shared_bytes, stream);
  });
}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                            CUstream_st* stream) {
  INTERNAL_CALL(__cudaPushCallConfiguration, plain);
  const cudaError_t result = finish([&] {
    simgpu::cudart::push({grid, block, shared_bytes, stream});
    return cudaSuccess;
  });
  return result;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                              void* stream) {
  INTERNAL_CALL(__cudaPopCallConfiguration, plain);
  return finish([&] { return simgpu::cudart::pop(grid, block, shared_bytes, stream); });
}
