// Steps of three collectives each, on a communicator of one rank and, every second step, on
// another: goes on whatever NCCL answers, and prints what it refused.
//
//   refused_collectives STEPS
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tools/demo_program/check.hpp"

namespace {

constexpr std::size_t floats = 1024;

void reduce(float* memory, ncclComm_t comm, int step) {
  const ncclResult_t result =
      ncclAllReduce(memory, memory, floats, ncclFloat, ncclSum, comm, nullptr);
  if (result != ncclSuccess) {
    std::printf("step %d: %s\n", step, ncclGetErrorString(result));
  }
}

void one_step(float* memory, ncclComm_t first, ncclComm_t second, int step) {
  CHECK(cudaMemsetAsync(memory, 0, floats, nullptr));
  reduce(memory, first, step);
  reduce(memory, first, step);
  reduce(memory, step % 2 == 0 ? first : second, step);
  CHECK(cudaDeviceSynchronize());
}

void run(int steps) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, floats * sizeof(float)));
  const int device = 0;
  ncclComm_t first = nullptr, second = nullptr;
  CHECK(ncclCommInitAll(&first, 1, &device));
  CHECK(ncclCommInitAll(&second, 1, &device));
  for (int step = 0; step < steps; ++step) {
    one_step(static_cast<float*>(memory), first, second, step);
  }
  CHECK(ncclCommDestroy(second));
  CHECK(ncclCommDestroy(first));
  CHECK(cudaFree(memory));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoi(argv[1]) : 40);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "refused_collectives: %s\n", error.what());
    return 1;
  }
}
