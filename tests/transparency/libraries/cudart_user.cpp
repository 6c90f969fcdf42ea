// Calls libcudart as an extension of Python's does that is linked to it; built for several of them.
// With CUDART_WITHIN it has them itself, exported and without a version.
#include <cstddef>

#pragma GCC visibility push(default)
extern "C" {
#ifdef CUDART_WITHIN
int cudaMemsetAsync(void*, int value, std::size_t, void*) { return value == 7 ? 0 : 77; }
int cudaGetLastError() { return 70; }
int cudaDeviceSynchronize() { return 0; }
#else
int cudaMemsetAsync(void*, int, std::size_t, void*);
int cudaGetLastError();
int cudaDeviceSynchronize();
#endif

// The results of all.
int call_cudart(int times) {
  int result = cudaDeviceSynchronize(), memory = 0;
  for (int i = 0; i < times; ++i) result += cudaMemsetAsync(&memory, 7, sizeof memory, nullptr);
  return 1000 * result + cudaGetLastError();
}
}
