// Threads whose first calls come at once, and go on: one of them starts the agent meanwhile. No
// step is in it, so that all is recorded from the start.
//
//   first_calls THREADS CALLS_EACH PAUSE_US
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int count = std::atoi(argv[1]), calls = std::atoi(argv[2]), pause_us = std::atoi(argv[3]);
  std::barrier together(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      for (int call = 0; call < calls; ++call) {
        cudaStreamQuery(nullptr);
        usleep(static_cast<useconds_t>(pause_us));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d calls\n", count * calls);
}
