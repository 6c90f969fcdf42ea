// Calls everything that has a name by each of its arguments: ranges, marks, kernels, threads,
// streams, a communicator. Whoever can start a job can choose them.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace {

void run_under(const char* name) {
  const traceagent::programs::Kernel kernel(name);
  pthread_setname_np(pthread_self(), std::string(name).substr(0, 15).c_str());
  nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  nvtxNameCudaStreamA(stream, name);
  nvtxRangePushA(name);
  kernel.launch(stream);
  CHECK(cudaStreamSynchronize(stream));
  nvtxRangePop();
  nvtxMarkA(name);
}

void communicate_under(const char* name) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.commName = name;
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  if (ncclGetUniqueId(&id) == ncclSuccess &&
      ncclCommInitRankConfig(&comm, 1, id, 0, &config) == 0) {
    ncclCommDestroy(comm);
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::thread(run_under, argv[i]).join();
    communicate_under(argv[i]);
  }
  std::printf("%d names\n", argc - 1);
  return 0;
}
