#pragma once

#include <cuda_runtime_api.h>

namespace traceagent::programs {

/// A kernel that exists by name only: registered as nvcc's code would, computed by nobody. For
/// the simulated GPU.
class Kernel {
 public:
  explicit Kernel(const char* name);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void launch(cudaStream_t stream, unsigned blocks = 64, unsigned threads = 256) const;
  const void* host_function() const { return this; }
};

}  // namespace traceagent::programs
