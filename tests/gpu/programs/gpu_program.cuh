#pragma once
// What the suite's CUDA programs share: steps as NVTX ranges, and the truth about the GPU's work,
// printed as lines "expect ..." that the driver compares with the trace.
//
// Step 0 is the schedule's warm-up: it waits until whoever watches has switched on what it needs.
// Steps 1 and 2 are recorded. Step 3 does nothing: its begin ends the window.

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace gpu {

inline void check(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(error));
  std::exit(3);
}
#define CHECK(call) ::gpu::check((call), #call, __LINE__)

// Counted while the recorded steps run, by any thread.
class Truth {
 public:
  void kernel(const char* name, int count = 1) { add(std::string("kernel ") + name, count, 0); }
  void copy(const char* direction, std::size_t bytes) {
    add(std::string("copy ") + direction, 1, bytes);
  }
  void set(std::size_t bytes) { add("set -", 1, bytes); }
  void record(bool on) { recording_ = on; }
  void print() const {
    for (const auto& [what, sum] : sums_) {
      std::printf("expect %s %ld %zu\n", what.c_str(), sum.count, sum.bytes);
    }
    std::fflush(stdout);
  }

 private:
  struct Sum {
    long count = 0;
    std::size_t bytes = 0;
  };
  void add(const std::string& what, int count, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!recording_) return;
    sums_[what].count += count;
    sums_[what].bytes += bytes;
  }

  std::mutex mutex_;
  std::map<std::string, Sum> sums_;
  bool recording_ = false;
};

inline Truth& truth() {
  static Truth only;
  return only;
}

inline double settle_seconds() {
  const char* text = std::getenv("GPU_SETTLE_S");
  return text == nullptr ? 0.0 : std::atof(text);
}

// Runs the body in steps 0 to 2 and prints the truth of steps 1 and 2.
inline void run_steps(const std::function<void(int)>& body) {
  for (int step = 0; step < 4; ++step) {
    nvtxRangePushA("step");
    truth().record(step == 1 || step == 2);
    if (step < 3) body(step);
    CHECK(cudaDeviceSynchronize());
    if (step == 0) usleep(static_cast<useconds_t>(settle_seconds() * 1e6));
    nvtxRangePop();
  }
  truth().print();
}

// The sum of an array on the device: the output that must not change under the agent.
inline double sum_of(const float* device, std::size_t count) {
  std::string bytes(count * sizeof(float), '\0');
  CHECK(cudaMemcpy(bytes.data(), device, bytes.size(), cudaMemcpyDeviceToHost));
  const float* values = reinterpret_cast<const float*>(bytes.data());
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

}  // namespace gpu
