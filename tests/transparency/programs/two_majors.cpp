// Two majors of cudart in one process, each with its own errors and streams.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  void* twelve = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
  if (twelve == nullptr) return 9;
  const auto set_device = reinterpret_cast<int (*)(int)>(dlsym(twelve, "cudaSetDevice"));
  const auto last_error = reinterpret_cast<int (*)()>(dlsym(twelve, "cudaGetLastError"));
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(twelve, "cudaRuntimeGetVersion"));
  int here = 0;
  int there = 0;
  cudaRuntimeGetVersion(&here);
  version(&there);
  say("versions %d %d\n", here, there);
  say("refused %d: there %d, here %d\n", set_device(1000), last_error(), cudaGetLastError());
  say("refused %d: there %d, here %d\n", cudaSetDevice(1000), last_error(), cudaGetLastError());
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  return 3;
}
