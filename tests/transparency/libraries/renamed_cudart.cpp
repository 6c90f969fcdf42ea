// A libcudart as wheels bundle it: under a name and SONAME of their own, while its symbols keep
// their version.
#include <unistd.h>

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
  const char own[] = "renamed: its module ends\n", others[] = "renamed: another's module ends\n";
  if (of != &module) {
    static_cast<void>(!write(STDOUT_FILENO, others, sizeof others - 1));
    return;
  }
  static_cast<void>(!write(STDOUT_FILENO, own, sizeof own - 1));
  registered.clear();
}
struct Dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void* function, Dim3, Dim3, void**, std::size_t, void*) {
  return registered.count(function) != 0 ? 0 : 98;
}
}
