// A libcudart as wheels bundle it: under a name and SONAME of their own, while its symbols keep
// their version.
#include <cstddef>
#include <set>

namespace {
std::set<const void*> registered;
void* module = nullptr;
}  // namespace

#pragma GCC visibility push(default)
extern "C" {
int cudaMemsetAsync(void*, int value, std::size_t, void*) { return value == 7 ? 0 : 99; }
int cudaGetLastError() { return 12; }
int cudaDeviceSynchronize() { return 0; }

void** __cudaRegisterFatBinary(void*) { return &module; }
void __cudaRegisterFunction(void** of, const char* function, ...) {
  if (of == &module) registered.insert(function);
}
void __cudaUnregisterFatBinary(void** of) {
  if (of == &module) registered.clear();
}
struct Dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void* function, Dim3, Dim3, void**, std::size_t, void*) {
  return registered.count(function) != 0 ? 0 : 98;
}
}
