// A libcudart as wheels bundle it: under a name and SONAME of their own, while its symbols keep
// their version.
#include <cstddef>

#pragma GCC visibility push(default)
extern "C" {
int cudaMemsetAsync(void*, int value, std::size_t, void*) { return value == 7 ? 0 : 99; }
int cudaGetLastError() { return 12; }
int cudaDeviceSynchronize() { return 0; }
}
