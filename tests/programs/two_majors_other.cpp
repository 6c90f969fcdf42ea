// The part of two_majors that is linked to libcudart.so.12.
#include <cuda_runtime_api.h>

#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int other_major_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return version;
}

EXPORT int other_major_allocate(std::size_t bytes) {
  void* memory = nullptr;
  const int result = cudaMalloc(&memory, bytes);
  cudaFree(memory);
  return result;
}

EXPORT int other_major_last_error() { return cudaGetLastError(); }
