#pragma once

#include <cuda.h>

#include <cstddef>

#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/call.hpp"

namespace simgpu::cuda {

enum class Mode { synchronous, asynchronous };

/// One row of bytes, of memory of any kind.
CUresult copy_bytes(Call& call, Mode mode, CUstream stream, void* to, const void* from,
                    std::size_t bytes, cudaMemcpyKind kind);

}  // namespace simgpu::cuda
