#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/engine/kernels.hpp"
#include "tests/sim/engine/prepared.hpp"
#include "tests/sim/engine/timeline.hpp"
#include "tests/sim/engine/truth_file.hpp"

namespace simgpu::cuda {
namespace {

constexpr unsigned most_block_threads = 1024;

struct Shape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
};

bool valid(const Shape& shape) {
  const auto volume = [](const unsigned(&of)[3]) { return std::uint64_t{of[0]} * of[1] * of[2]; };
  return volume(shape.grid) != 0 && volume(shape.block) != 0 &&
         volume(shape.block) <= most_block_threads;
}

void note(Record& record, const Work& work) {
  record.name = work.name;
  record.shared_bytes = work.shared_bytes;
  std::copy_n(work.grid, 3, record.grid);
  std::copy_n(work.block, 3, record.block);
}

CUresult launch_kernel(Call& call, CUfunction function, const Shape& shape, Stream* stream) {
  const Kernel* kernel = kernels::find(function);
  if (kernel == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Work work;
  work.kind = WorkKind::kernel;
  work.name = truth::name_id(kernel->name);
  work.duration_ns = kernel->duration_ns;
  work.registers = kernel->registers;
  work.shared_bytes = shape.shared_bytes;
  std::copy_n(shape.grid, 3, work.grid);
  std::copy_n(shape.block, 3, work.block);
  note(call.args(), work);
  if (!valid(shape)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline::get().submit(*stream, std::move(work), call.number());
  return CUDA_SUCCESS;
}

// Work of a library above: it has said all there is to say.
CUresult launch(Call& call, CUfunction function, const Shape& shape, CUstream handle) {
  Stream* stream = stream_of(call, handle);
  std::optional<prepared::Launch> launch = prepared::take(function);
  if (!launch) {
    return launch_kernel(call, function, shape, stream);
  }
  note(call.args(), launch->work);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  Timeline::get().submit(*stream, std::move(launch->work), launch->call_number);
  return CUDA_SUCCESS;
}

struct Modules {
  std::mutex mutex;
  std::set<CUmodule> loaded;
};

Modules& modules() {
  static auto* instance = new Modules;
  return *instance;
}

}  // namespace

BODY(cuModuleLoadData, v1)(Call&, CUmodule* out, const void* image) {
  if (out == nullptr || image == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Modules& all = modules();
  std::lock_guard lock(all.mutex);
  *out = reinterpret_cast<CUmodule>(new char);
  all.loaded.insert(*out);
  return CUDA_SUCCESS;
}

// Its handle is never used again: a launch through it is an error for ever.
BODY(cuModuleUnload, v1)(Call&, CUmodule module) {
  Modules& all = modules();
  std::lock_guard lock(all.mutex);
  return all.loaded.erase(module) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

BODY(cuModuleGetFunction, v1)(Call&, CUfunction* out, CUmodule module, const char* name) {
  Modules& all = modules();
  std::lock_guard lock(all.mutex);
  if (out == nullptr || name == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!all.loaded.contains(module)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // Nothing of the host's stands for it: any address of its own will do.
  *out = reinterpret_cast<CUfunction>(kernels::add(new char, name));
  return CUDA_SUCCESS;
}

BODY(cuLaunchKernel, v1)
(Call& call, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
 void**, void**) {
  return launch(call, function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream);
}

BODY(cuLaunchKernel, v3)
(Call& call, CUfunction function, unsigned grid_x, unsigned block_x, CUstream stream) {
  return launch(call, function, {{grid_x, 1, 1}, {block_x, 1, 1}, 0}, stream);
}

BODY(cuLaunchKernelEx, v1)
(Call& call, const CUlaunchConfig* config, CUfunction function, void**, void**) {
  if (config == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return launch(call, function,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 config->sharedMemBytes},
                config->hStream);
}

BODY(cuLaunchCooperativeKernel, v1)
(Call& call, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
 void**) {
  return launch(call, function,
                {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream);
}

}  // namespace simgpu::cuda
