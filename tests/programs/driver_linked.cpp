// Linked with -lcuda, as programs of the driver API are.
#include <cuda.h>

#include <cstdio>

#define SAY(call) std::printf("%s %d\n", #call, call)

int main() {
  CUdeviceptr memory = 0;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  SAY(cuInit(0));
  SAY(cuMemAlloc(&memory, 4096));
  SAY(cuModuleLoadData(&module, "image"));
  SAY(cuModuleGetFunction(&kernel, module, "_Z9my_kernelPfi"));
  SAY(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuGetProcAddress("cuLaunchKernel", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  const auto again = reinterpret_cast<decltype(&cuLaunchKernel)>(found);
  SAY(again(kernel, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuMemsetD8(memory, 1, 64));
  SAY(cuCtxSynchronize());
  SAY(cuMemFree(memory));
  return 3;
}
