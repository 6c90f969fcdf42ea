// The shortest job that brings the agent to most of its calls: every door, two windows with a pause
// in which the first is written, a thread, a forked child that makes calls of its own, a file of
// the job's. It ends with 3, and says so where a call changed errno.
//
//   small_job [child_killed]      the child dies of SIGKILL after its calls
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>

#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

constexpr int steps = 10;
constexpr int pause_us = 3000;  // the warm-up is long enough to switch CUPTI on
constexpr int fork_after = 5;   // and a longer pause, in which the first window is written
constexpr int unusual_errno = 4711;
int changed = 0;

template <class Call>
void check(const char* what, Call call) {
  errno = unusual_errno;
  const int result = static_cast<int>(call());
  if (result != 0) std::printf("%s: %d\n", what, result);
  changed += errno == unusual_errno ? 0 : 1;
}

struct Device {
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  ncclComm_t alone = nullptr;

  Device() {
    ncclUniqueId id{};
    check("malloc", [&] { return cudaMalloc(&memory, 4096); });
    check("stream", [&] { return cudaStreamCreate(&stream); });
    check("id", [&] { return ncclGetUniqueId(&id); });
    check("communicator", [&] { return ncclCommInitRank(&alone, 1, id, 0); });
  }

  void step(const Kernel& kernel) const {
    nvtxRangePushA("step");
    kernel.launch(stream, 1, 32);
    check("reduce",
          [&] { return ncclAllReduce(memory, memory, 16, ncclFloat32, ncclSum, alone, stream); });
    std::thread([&] {
      check("set", [&] { return cudaMemsetAsync(memory, 0, 64, stream); });
    }).join();
    check("synchronize", [] { return cudaDeviceSynchronize(); });
    nvtxRangePop();
  }
};

void fork_child(bool is_killed) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    int device = 0;
    // They fail, and are calls.
    for (int i = 0; i < 3; ++i) cudaMemsetAsync(&device, 0, sizeof device, nullptr);
    if (is_killed) std::raise(SIGKILL);
    _exit(5);
  }
  int status = 0;
  const bool is_waited = child > 0 && waitpid(child, &status, 0) == child;
  std::printf("child %d\n", is_waited ? status : -1);
}

void write_file(int step) {
  const int file = open("own.txt", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dprintf(file, "step %d\n", step);
  close(file);
}

int run(std::string_view how) {
  const Kernel kernel("small");
  {
    const Device device;
    for (int step = 0; step < steps; ++step) {
      device.step(kernel);
      write_file(step);
      usleep(step == fork_after ? 15 * pause_us : pause_us);
      if (step == fork_after) fork_child(how == "child_killed");
    }
    check("free", [&] { return cudaFree(device.memory); });
  }
  std::printf("errno changed %d times\n", changed);
  return 3;
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) { return traceagent::programs::run(argc > 1 ? argv[1] : ""); }
