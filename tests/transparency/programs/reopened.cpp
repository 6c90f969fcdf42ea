// Opens and closes cudart and NCCL forty times and calls in between: reopened [maps] says which of
// them were mapped after their close.
#include <dlfcn.h>

#include <fstream>
#include <string>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

int is_mapped(const char* library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return 1;
  }
  return 0;
}

// The sum of the results; -1: one of them was not there.
int open_call_and_close(bool is_global) {
  void* cudart = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
  void* nccl = dlopen("libnccl.so.2", RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
  if (cudart == nullptr || nccl == nullptr) return -1;
  const auto synchronize = reinterpret_cast<int (*)()>(dlsym(cudart, "cudaDeviceSynchronize"));
  const auto version = reinterpret_cast<int (*)(int*)>(dlsym(nccl, "ncclGetVersion"));
  const auto start = reinterpret_cast<int (*)()>(dlsym(nccl, "ncclGroupStart"));
  const auto end = reinterpret_cast<int (*)()>(dlsym(nccl, "ncclGroupEnd"));
  int number = 0;
  const int sum = synchronize() + version(&number) + start() + end();
  dlclose(nccl);
  dlclose(cudart);
  return sum;
}

}  // namespace

int main(int argc, char**) {
  int sum = 0;
  int cudarts = 0;
  int nccls = 0;
  for (int i = 0; i < 40; ++i) {
    sum += open_call_and_close(i % 2 != 0);
    cudarts += is_mapped("libcudart.so.12");
    nccls += is_mapped("libnccl.so.2");
  }
  say("sum %d, calls %d\n", sum, call_often());
  if (argc > 1) say("mapped after the close: cudart %d times, NCCL %d times\n", cudarts, nccls);
  say_state("end");
  return 3;
}
