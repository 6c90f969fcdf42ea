// Calls libcudart as an extension of Python's does that is linked to it, with a kernel of its own;
// built for several of them. With CUDART_WITHIN it has them itself, exported and without a version.
#include <cstddef>

#include "tests/transparency/libraries/user.hpp"

#pragma GCC visibility push(default)
extern "C" {
struct Dim3 {
  unsigned x, y, z;
};
#ifdef CUDART_WITHIN
int cudaMemsetAsync(void*, int value, std::size_t, void*) { return value == 7 ? 0 : 77; }
int cudaGetLastError() { return 70; }
int cudaDeviceSynchronize() { return 0; }
int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*) { return 0; }
#else
int cudaMemsetAsync(void*, int, std::size_t, void*);
int cudaGetLastError();
int cudaDeviceSynchronize();
int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*);
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
void __cudaUnregisterFatBinary(void**);
#endif
}
#pragma GCC visibility pop

namespace {

void kernel() {}

#ifndef CUDART_WITHIN
class Registration {
 public:
  Registration() : module_(__cudaRegisterFatBinary(this)) {
    static char name[] =  // as the compiler's: the agent reads it at the first launch
        "kernel_of_an_extension";
    __cudaRegisterFunction(module_, reinterpret_cast<const char*>(&kernel), name, name, -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
  }
  ~Registration() { __cudaUnregisterFatBinary(module_); }

 private:
  void** const module_;
};
#ifdef WITH_KERNEL
const Registration registration;
#endif
#endif

}  // namespace

// The results of all.
int call_library(int times) {
  int result = cudaDeviceSynchronize(), memory = 0;
  for (int i = 0; i < times; ++i) result += cudaMemsetAsync(&memory, 7, sizeof memory, nullptr);
  const int launched = cudaLaunchKernel(reinterpret_cast<const void*>(&kernel), {1, 1, 1},
                                        {1, 1, 1}, nullptr, 0, nullptr);
  return 100000 * launched + 1000 * result + cudaGetLastError();
}
