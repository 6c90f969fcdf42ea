// A program that ends in mid-window: ends return|exception|_exit|SIGTERM|SIGKILL. All but SIGKILL
// happen in step 2, with work behind them; what step 1 did is known.
#include <csignal>
#include <stdexcept>

#include "gpu_program.cuh"

constexpr int count = 1 << 16, launches = 20;

extern "C" __global__ void add_one(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1.0f;
}

static void end_by(const std::string& how) {
  if (how == "exception") throw std::runtime_error("the end");
  if (how == "_exit") _exit(7);
  if (how == "SIGTERM") raise(SIGTERM);
  if (how == "SIGKILL") raise(SIGKILL);
  if (how == "return") std::exit(5);
}

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "return";
  float* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  for (int step = 0; step < 3; ++step) {
    nvtxRangePushA("step");
    for (int i = 0; i < launches; ++i) add_one<<<count / 256, 256>>>(data, count);
    CHECK(cudaDeviceSynchronize());
    if (step == 0) usleep(static_cast<useconds_t>(gpu::settle_seconds() * 1e6));
    std::printf("step %d\n", step);
    std::fflush(stdout);
    if (step == 2) {
      usleep(static_cast<useconds_t>(gpu::settle_seconds() * 1e6));
      end_by(how);
    }
    nvtxRangePop();
  }
  return 1;
}
