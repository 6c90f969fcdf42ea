// Opens and closes cudart and NCCL forty times and calls in between.
#include <dlfcn.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    void* cudart = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
    void* nccl = dlopen("libnccl.so.2", RTLD_NOW | (i % 2 != 0 ? RTLD_GLOBAL : RTLD_LOCAL));
    if (cudart == nullptr || nccl == nullptr) return 9;
    const auto synchronize = reinterpret_cast<int (*)()>(dlsym(cudart, "cudaDeviceSynchronize"));
    const auto version = reinterpret_cast<int (*)(int*)>(dlsym(nccl, "ncclGetVersion"));
    const auto start = reinterpret_cast<int (*)()>(dlsym(nccl, "ncclGroupStart"));
    const auto end = reinterpret_cast<int (*)()>(dlsym(nccl, "ncclGroupEnd"));
    int number = 0;
    sum += synchronize() + version(&number) + start() + end();
    dlclose(nccl);
    dlclose(cudart);
  }
  say("sum %d, calls %d\n", sum, call_often());
  say_state("end");
  return 3;
}
