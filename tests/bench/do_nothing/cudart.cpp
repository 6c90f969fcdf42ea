// A libcudart.so.13 that does nothing, as the baseline of the overhead: its functions cost what a
// call through the PLT costs. The plain* ones have no wrapper and so stay that in a traced process.
#include <cuda_runtime_api.h>

extern "C" {

cudaError_t cudaMalloc(void**, size_t) { return cudaSuccess; }
cudaError_t plainMalloc(void**, size_t) { return cudaSuccess; }

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t plainLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind) { return cudaSuccess; }

void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
}
