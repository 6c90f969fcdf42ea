// longjmp and an exception within host functions and stream callbacks.
#include <cuda_runtime_api.h>

#include <csetjmp>
#include <stdexcept>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
void jump(void* data) {
  jmp_buf back;
  volatile int turns = 0;
  if (setjmp(back) < 3) {
    turns = turns + 1;
    longjmp(back, turns);
  }
  *static_cast<int*>(data) += turns;
}

void throw_and_catch(cudaStream_t, cudaError_t, void* data) {
  try {
    throw std::runtime_error("caught");
  } catch (const std::exception&) {
    *static_cast<int*>(data) += 100;
  }
}
}  // namespace

int main() {
  int count = 0;
  for (int i = 0; i < 10; ++i) {
    cudaLaunchHostFunc(nullptr, jump, &count);
    cudaStreamAddCallback(nullptr, throw_and_catch, &count, 0);
  }
  const int result = static_cast<int>(cudaDeviceSynchronize());
  say("synchronize %d, count %d\n", result, count);
  say_state("end");
  return 0;
}
