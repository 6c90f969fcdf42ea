// A thread that asks again and again for the lowest free descriptor, while steps go on in main; how
// often that was another than at the start.
//
//   lowest_number STEPS CALLS_PER_STEP PAUSE_US
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

int lowest_free() {
  const int descriptor = dup(STDIN_FILENO);
  close(descriptor);
  return descriptor;
}

struct Counts {
  unsigned long asked = 0, others = 0, times = 0;  // times: an unbroken run of others is one
};

Counts ask_until(const std::atomic<bool>& is_over, int expected) {
  Counts counts;
  bool was_other = false;
  while (!is_over.load(std::memory_order_relaxed)) {
    const bool is_other = lowest_free() != expected;
    ++counts.asked;
    counts.others += is_other ? 1 : 0;
    counts.times += is_other && !was_other ? 1 : 0;
    was_other = is_other;
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int steps = std::atoi(argv[1]), calls = std::atoi(argv[2]), pause_us = std::atoi(argv[3]);
  void* memory = nullptr;
  cudaMalloc(&memory, 64);
  cudaDeviceSynchronize();
  usleep(100'000);  // what the libraries open for good is open
  const int expected = lowest_free();
  std::atomic<bool> is_over{false};
  Counts counts;
  std::thread asking([&] { counts = ask_until(is_over, expected); });
  for (int step = 0; step < steps; ++step) {
    for (int call = 0; call < calls; ++call) cudaMemsetAsync(memory, 0, 64, nullptr);
    usleep(static_cast<useconds_t>(pause_us));
    cudaDeviceSynchronize();
  }
  is_over.store(true);
  asking.join();
  std::printf("asked %lu, others %lu, times %lu, in the end %d\n", counts.asked, counts.others,
              counts.times, lowest_free() - expected);
}
