// Bound by its launches: GPU_LAUNCHES empty kernels a step (default 1000). For each line "N" on
// standard input it runs N steps and prints their times: [[ns of the step, ns of the launch loop],
// …].
#include <chrono>
#include <iostream>
#include <string>

#include "gpu_program.cuh"

extern "C" __global__ void nothing(float*) {}

static long long now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int main() {
  const char* text = std::getenv("GPU_LAUNCHES");
  const int launches = text == nullptr ? 1000 : std::atoi(text);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int steps = 0; std::cin >> steps && steps > 0;) {
    std::string line = "[";
    for (int step = 0; step < steps; ++step) {
      nvtxRangePushA("step");
      const long long begin = now_ns();
      for (int i = 0; i < launches; ++i) nothing<<<1, 32, 0, stream>>>(nullptr);
      const long long launched = now_ns();
      CHECK(cudaStreamSynchronize(stream));
      const long long end = now_ns();
      nvtxRangePop();
      line += (step == 0 ? "[" : ", [") + std::to_string(end - begin) + ", " +
              std::to_string(launched - begin) + "]";
    }
    std::cout << line << "]" << std::endl;
  }
  return 0;
}
