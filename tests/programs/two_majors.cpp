// Two majors of cudart in one process: this file is linked to libcudart.so.13, the other part, a
// library of its own, to libcudart.so.12. Each must reach its own.
#include <cuda_runtime_api.h>

#include <cstdio>

extern "C" int other_major_version();
extern "C" int other_major_allocate(std::size_t bytes);
extern "C" int other_major_last_error();

int main() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  std::printf("versions %d %d\n", version, other_major_version());
  void* memory = nullptr;
  const int here = cudaMalloc(&memory, 1000);
  std::printf("allocate %d %d\n", here, other_major_allocate(2000));
  std::printf("free %d\n", cudaFree(memory));
  // An error made here must not be the other's last error.
  const int refused = cudaSetDevice(1000);
  std::printf("refused %d, last error there %d, here %d\n", refused, other_major_last_error(),
              cudaGetLastError());
  return 0;
}
