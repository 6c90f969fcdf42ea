// Launches tiny kernels as fast as it can, with everything else that a budget may leave out beside
// them, until its standard input says otherwise: "quiet\n" is a call in a while, "loud\n" is loud
// again, its end is the end. Prints what it did.
//
//   noisy [PAUSE_US after a thousand launches [LAUNCHES: then it ends by itself]]
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

const Kernel tiny("tiny_kernel");

enum class Mood { loud, quiet, over };

struct Done {
  unsigned long launches = 0, copies = 0, queries = 0, ranges = 0;
};

void listen(std::atomic<Mood>& mood) {
  std::string line;
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte != '\n') {
      line += byte;
      continue;
    }
    mood = line == "quiet" ? Mood::quiet : Mood::loud;
    line.clear();
  }
  mood = Mood::over;
}

void beat(void* memory, Done& done) {
  nvtxRangePushA("beat");
  cudaMemsetAsync(memory, 1, 64, nullptr);
  cudaStreamQuery(nullptr);
  nvtxRangePop();
  ++done.copies;
  ++done.queries;
  ++done.ranges;
}

Done make_noise(void* memory, const std::atomic<Mood>& mood, useconds_t loud_pause_us,
                unsigned long most_launches) {
  constexpr int launches_per_beat = 1000;
  Done done;
  for (Mood now = mood; now != Mood::over && done.launches < most_launches; now = mood) {
    beat(memory, done);
    const int launches = now == Mood::loud ? launches_per_beat : 1;
    for (int i = 0; i < launches; ++i) {
      tiny.launch(nullptr, 1, 32);
    }
    done.launches += static_cast<unsigned long>(launches);
    const useconds_t pause_us = now == Mood::loud ? loud_pause_us : 5000;
    if (pause_us != 0) {
      usleep(pause_us);
    }
  }
  return done;
}

int run(useconds_t loud_pause_us, unsigned long most_launches) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, 64) != cudaSuccess) {
    return 1;
  }
  std::atomic<Mood> mood{Mood::loud};
  std::thread listener;
  if (most_launches == ULONG_MAX) {
    listener = std::thread(listen, std::ref(mood));
  }
  const Done done = make_noise(memory, mood, loud_pause_us, most_launches);
  if (listener.joinable()) {
    listener.join();
  }
  std::printf("launches %lu copies %lu queries %lu ranges %lu\n", done.launches, done.copies,
              done.queries, done.ranges);
  return cudaFree(memory) == cudaSuccess ? 3 : 1;  // what a wrapper could lose
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  const int pause_us = argc > 1 ? std::atoi(argv[1]) : 0;
  const unsigned long launches = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : ULONG_MAX;
  return traceagent::programs::run(static_cast<useconds_t>(pause_us), launches);
}
