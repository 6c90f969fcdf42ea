#pragma once

#include <cuda_runtime_api.h>

#include "tests/sim/engine/work.hpp"

namespace simgpu::cudart {

/// What a launch, a copy or a fill does, for a stream or a graph. Checks its arguments; the work
/// is filled in as far as it is understood even when an error comes back.
cudaError_t kernel_work(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                        Work& work);

/// A copy of rows (one row for plain copies); pitches in bytes.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t width_bytes = 0;
  std::size_t rows = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

/// waits: the call must wait for the copy, because pageable memory takes part in it.
cudaError_t copy_work(const Copy& copy, Work& work, bool& waits);

Copy box_of(const cudaMemcpy3DParms& parameters);

struct Fill {
  void* to = nullptr;
  std::size_t width_bytes = 0;
  std::size_t rows = 1;
  std::size_t pitch = 0;
  int value = 0;
  unsigned element_bytes = 1;
};

cudaError_t fill_work(const Fill& fill, Work& work);

}  // namespace simgpu::cudart
