// A library whose constructor calls before the agent's own ran, and whose destructor and thread
// call after the agent's exit hook.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

namespace {

void* memory = nullptr;

[[gnu::constructor]] void first() {
  cudaDeviceSynchronize();
  std::printf("constructor %d\n", static_cast<int>(cudaMalloc(&memory, 64)));
}

[[gnu::destructor]] void last() {
  std::printf("destructor %d\n", static_cast<int>(cudaFree(memory)));
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void calls_around() { cudaMemset(memory, 0, 64); }
