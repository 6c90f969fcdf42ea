// A communicator of one rank: collectives, a group, a refused call, abort.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  float* memory = nullptr;
  say("id %d\n", static_cast<int>(ncclGetUniqueId(&id)));
  say("comm %d\n", static_cast<int>(ncclCommInitRank(&comm, 1, id, 0)));
  say("malloc %d\n", static_cast<int>(cudaMalloc(reinterpret_cast<void**>(&memory), 4096)));
  for (int i = 0; i < 5; ++i) {
    ncclGroupStart();
    ncclAllReduce(memory, memory, 64, ncclFloat32, ncclSum, comm, nullptr);
    ncclBroadcast(memory, memory, 64, ncclFloat32, 0, comm, nullptr);
    say("group %d\n", static_cast<int>(ncclGroupEnd()));
  }
  say("refused %d\n",
      static_cast<int>(ncclAllReduce(memory, memory, 64, ncclFloat32, ncclSum, nullptr, nullptr)));
  say("synchronize %d\n", static_cast<int>(cudaDeviceSynchronize()));
  ncclResult_t state = ncclSuccess;
  say("state %d %d\n", static_cast<int>(ncclCommGetAsyncError(comm, &state)),
      static_cast<int>(state));
  say("abort %d\n", static_cast<int>(ncclCommAbort(comm)));
  say_state("end");
  return 3;
}
