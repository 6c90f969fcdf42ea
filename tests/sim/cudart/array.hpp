#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace simgpu::cudart {

/// What a cudaArray_t points at: plain rows in device memory.
struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};
  unsigned flags = 0;
  char* base = nullptr;

  std::size_t element_bytes() const {
    return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
  }
  std::size_t row_bytes() const { return extent.width * element_bytes(); }
};

inline Array* array_of(cudaArray_const_t handle) {
  return reinterpret_cast<Array*>(const_cast<cudaArray_t>(handle));
}

}  // namespace simgpu::cudart
