// Steps of the same calls, as many and as fast as told; each step ends in a cudaDeviceSynchronize.
// No collectives: a rank can be killed while the others go on.
//
//   steady STEPS CALLS_PER_STEP PAUSE_US [THREADS ["times"]]
//
// PAUSE_US below 0: so many microseconds of work, on an idle machine of 2 GHz or so. With "times"
// each step is told, with the clock and the CPU times of its thread and of the process in ns.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

namespace {

// Always the same: it takes longer where somebody else has the CPU.
void work(int microseconds) {
  volatile unsigned number = 1;
  for (int i = 0; i < microseconds * 400; ++i) number = number * 1664525u + 1013904223u;
}

void set_often(void* memory, int calls, int pause_us) {
  for (int call = 0; call < calls; ++call) {
    cudaMemsetAsync(memory, call & 0xff, 64, nullptr);
  }
  if (pause_us > 0) {
    usleep(static_cast<useconds_t>(pause_us));
  } else {
    work(-pause_us);
  }
}

void one_step(void* memory, int calls, int pause_us, int threads) {
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back(set_often, memory, calls, pause_us);
  }
  set_often(memory, calls, pause_us);
  for (std::thread& other : others) {
    other.join();
  }
  cudaDeviceSynchronize();
}

long long now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void tell_step(int step, bool with_times) {
  if (with_times) {
    std::printf("step %d %lld %lld %lld\n", step, now_ns(CLOCK_MONOTONIC),
                now_ns(CLOCK_THREAD_CPUTIME_ID), now_ns(CLOCK_PROCESS_CPUTIME_ID));
  } else if (step % 10 == 0) {
    std::printf("step %d\n", step);
  } else {
    return;
  }
  std::fflush(stdout);
}

int number(int argc, char** argv, int index, int otherwise) {
  return argc > index ? std::atoi(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = number(argc, argv, 1, 10);
  const int calls = number(argc, argv, 2, 10);
  const int pause_us = number(argc, argv, 3, 0);
  const int threads = number(argc, argv, 4, 1);
  void* memory = nullptr;
  std::printf("malloc %d\n", static_cast<int>(cudaMalloc(&memory, 64)));
  cudaDeviceSynchronize();
  for (int step = 0; step < steps; ++step) {
    one_step(memory, calls, pause_us, threads);
    tell_step(step + 1, argc > 5);
  }
  std::printf("free %d\n", static_cast<int>(cudaFree(memory)));
  return 3;  // what a wrapper or a hook could lose
}
