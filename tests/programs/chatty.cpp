// NVTX ranges and small collectives as fast as it can: what a budget leaves out last. "quiet\n" on
// its standard input is a collective in a while, its end is the end. Prints how many collectives it
// made.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

enum class Mood { loud, quiet, over };

// Any word is "quiet".
void listen(std::atomic<Mood>& mood) {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') mood = Mood::quiet;
  }
  mood = Mood::over;
}

unsigned long talk(ncclComm_t communicator, void* memory, const std::atomic<Mood>& mood) {
  unsigned long collectives = 0;
  for (Mood now = mood; now != Mood::over; now = mood) {
    nvtxRangePushA("word");
    ncclAllReduce(memory, memory, 16, ncclFloat32, ncclSum, communicator, nullptr);
    nvtxRangePop();
    ++collectives;
    if (now == Mood::quiet) usleep(5000);
  }
  return collectives;
}

}  // namespace

int main() {
  void* memory = nullptr;
  ncclUniqueId id{};
  ncclComm_t communicator = nullptr;
  if (cudaMalloc(&memory, 64) != cudaSuccess || ncclGetUniqueId(&id) != ncclSuccess ||
      ncclCommInitRank(&communicator, 1, id, 0) != ncclSuccess) {
    return 1;
  }
  std::atomic<Mood> mood{Mood::loud};
  std::thread listener(listen, std::ref(mood));
  const unsigned long collectives = talk(communicator, memory, mood);
  listener.join();
  std::printf("collectives %lu\n", collectives);
  return 3;
}
