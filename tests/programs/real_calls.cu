// Built by nvcc with -cudart shared, for the real run-time library: prints what each call returned.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void set_to_one(int* value) { *value = 1; }

static void say(const char* name, cudaError_t error) {
  std::printf("%s %d\n", name, static_cast<int>(error));
  std::fflush(stdout);
}

int main() {
  int* device = nullptr;
  int host = 0;
  say("cudaMalloc", cudaMalloc(&device, sizeof host));
  set_to_one<<<1, 1>>>(device);
  say("cudaMemcpyAsync", cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost));
  say("cudaDeviceSynchronize", cudaDeviceSynchronize());
  say("cudaFree", cudaFree(device));
  return 3;
}
