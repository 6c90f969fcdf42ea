// Two ranks that may share one GPU: all-reduce, all-gather, reduce-scatter, broadcast, send and
// receive, a split communicator. usage: nccl_two_ranks FILE (where rank 0 leaves NCCL's id).
// Given the word "abort" too, both ranks end by ncclCommAbort while nothing runs.
#include <nccl.h>

#include <cstring>
#include <fstream>

#include "gpu_program.cuh"

constexpr std::size_t count = 1 << 18;

static void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, ncclGetErrorString(result));
  std::exit(4);
}
#define NCCL(call) check_nccl((call), #call)

static int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

static ncclUniqueId exchange_id(int rank, const std::string& path) {
  ncclUniqueId id{};
  if (rank == 0) {
    NCCL(ncclGetUniqueId(&id));
    std::ofstream(path + ".part", std::ios::binary).write(id.internal, sizeof id.internal);
    std::rename((path + ".part").c_str(), path.c_str());
    return id;
  }
  for (int tries = 0; tries < 6000; ++tries) {
    std::ifstream in(path, std::ios::binary);
    if (in.read(id.internal, sizeof id.internal)) return id;
    usleep(10'000);
  }
  std::fprintf(stderr, "rank 0 did not come: %s\n", path.c_str());
  std::exit(5);
}

struct Ranks {
  int rank, size;
  ncclComm_t all, pair;
  cudaStream_t stream;
  float *from, *to;
};

static void all_operations(const Ranks& r) {
  const std::size_t part = count / static_cast<std::size_t>(r.size);
  const int peer = 1 - r.rank;
  NCCL(ncclAllReduce(r.from, r.to, count, ncclFloat, ncclSum, r.all, r.stream));
  NCCL(ncclAllGather(r.from, r.to, part, ncclFloat, r.all, r.stream));
  NCCL(ncclReduceScatter(r.from, r.to, part, ncclFloat, ncclSum, r.all, r.stream));
  NCCL(ncclBroadcast(r.from, r.to, count, ncclBfloat16, 1, r.all, r.stream));
  NCCL(ncclGroupStart());
  NCCL(ncclSend(r.from, part, ncclFloat, peer, r.all, r.stream));
  NCCL(ncclRecv(r.to, part, ncclFloat, peer, r.all, r.stream));
  NCCL(ncclGroupEnd());
  NCCL(ncclAllReduce(r.from, r.to, part, ncclFloat16, ncclMax, r.pair, r.stream));
}

int main(int argc, char** argv) {
  Ranks r{};
  r.rank = number("RANK");
  r.size = number("WORLD_SIZE");
  if (argc < 2 || r.size != 2) {
    std::fprintf(stderr, "usage: RANK=0 WORLD_SIZE=2 nccl_two_ranks FILE [abort]\n");
    return 2;
  }
  CHECK(cudaSetDevice(0));
  NCCL(ncclCommInitRank(&r.all, r.size, exchange_id(r.rank, argv[1]), r.rank));
  NCCL(ncclCommSplit(r.all, 0, r.size - r.rank, &r.pair, nullptr));
  CHECK(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
  for (float** data : {&r.from, &r.to}) {
    CHECK(cudaMalloc(data, count * sizeof(float)));
    CHECK(cudaMemset(*data, 0, count * sizeof(float)));
  }
  gpu::run_steps([&](int) {
    for (int i = 0; i < 5; ++i) all_operations(r);
    CHECK(cudaStreamSynchronize(r.stream));
  });
  std::printf("sum %.1f\n", gpu::sum_of(r.to, count));
  for (ncclComm_t comm : {r.pair, r.all}) {
    NCCL(argc > 2 && std::strcmp(argv[2], "abort") == 0 ? ncclCommAbort(comm)
                                                        : ncclCommDestroy(comm));
  }
  return 0;
}
