// Everything that NCCL plans differently: operations alone and in groups, several of one shape in
// one group, two communicators in one group, sends and receives, an all-to-all, communicators that
// do not block, one of a single rank. Built twice: with STATIC_NCCL it reaches NCCL under other
// names, as a program that NCCL is linked into, so that no wrapper is called.
#ifdef STATIC_NCCL
#define ncclGetUniqueId pncclGetUniqueId
#define ncclCommInitRank pncclCommInitRank
#define ncclCommInitRankConfig pncclCommInitRankConfig
#define ncclCommGetAsyncError pncclCommGetAsyncError
#define ncclCommDestroy pncclCommDestroy
#define ncclGroupStart pncclGroupStart
#define ncclGroupEnd pncclGroupEnd
#define ncclAllReduce pncclAllReduce
#define ncclAllGather pncclAllGather
#define ncclReduceScatter pncclReduceScatter
#define ncclBroadcast pncclBroadcast
#define ncclReduce pncclReduce
#define ncclAlltoAll pncclAlltoAll
#define ncclSend pncclSend
#define ncclRecv pncclRecv
#endif

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/demo_program/check.hpp"
#include "tools/demo_program/rendezvous.hpp"

namespace traceagent::programs {
namespace {

constexpr std::size_t floats = std::size_t{1} << 20;

struct Communicators {
  ncclComm_t world = nullptr, second = nullptr, alone = nullptr;
  ncclComm_t patient = nullptr, other_patient = nullptr;  // do not block
};

class Program {
 public:
  explicit Program(const demo::Ranks& ranks) : ranks_(ranks) {
    CHECK(cudaSetDevice(ranks.local_rank));
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&memory_), 2 * floats * sizeof(float)));
    connect();
  }

  void run(bool with_patient) {
    alone();
    grouped();
    two_communicators();
    pairs();
    if (with_patient) patient();
    CHECK(cudaDeviceSynchronize());
    for (ncclComm_t each :
         {comms_.patient, comms_.other_patient, comms_.second, comms_.world, comms_.alone}) {
      CHECK(ncclCommDestroy(each));
    }
  }

 private:
  ncclUniqueId shared_id(const char* name) {
    ncclUniqueId id{};
    if (ranks_.rank == 0) CHECK(ncclGetUniqueId(&id));
    const std::string mine(reinterpret_cast<const char*>(&id), sizeof id);
    demo::Ranks meeting = ranks_;
    meeting.launch += name;
    const std::string folder = demo::rendezvous_folder(meeting, "");
    std::memcpy(&id, demo::exchange(meeting, folder, mine).data(), sizeof id);
    return id;
  }

  void connect() {
    CHECK(ncclCommInitRank(&comms_.world, ranks_.size, shared_id("world"), ranks_.rank));
    CHECK(ncclCommInitRank(&comms_.second, ranks_.size, shared_id("second"), ranks_.rank));
    ncclUniqueId own{};
    CHECK(ncclGetUniqueId(&own));
    CHECK(ncclCommInitRank(&comms_.alone, 1, own, 0));
    connect_patient(comms_.patient, "patient");
    connect_patient(comms_.other_patient, "other patient");
  }

  void connect_patient(ncclComm_t& comm, const char* name) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclUniqueId id = shared_id(name);
    wait_for_nccl(comm, ncclCommInitRankConfig(&comm, ranks_.size, id, ranks_.rank, &config));
  }

  // Until NCCL has done what was asked of a communicator that does not block.
  static void wait_for_nccl(const ncclComm_t& comm, ncclResult_t state) {
    CHECK(state == ncclInProgress ? ncclSuccess : state);
    for (; state == ncclInProgress; usleep(100)) {
      CHECK(ncclCommGetAsyncError(comm, &state));
    }
    CHECK(state);
  }
  ncclResult_t ask(ncclComm_t patient, std::size_t count) {
    const cudaStream_t stream = patient == comms_.patient ? stream_ : other_stream_;
    return ncclAllReduce(memory_, memory_, count, ncclFloat32, ncclSum, patient, stream);
  }

  void all_reduce(std::size_t count, ncclComm_t comm) {
    CHECK(ncclAllReduce(memory_, memory_, count, ncclFloat32, ncclSum, comm, stream_));
  }

  void alone() {
    for (const std::size_t count : {1U, 1000U, 30000U, 500000U}) {
      all_reduce(count, comms_.world);
      all_reduce(count, comms_.alone);  // which NCCL plans nothing for
      CHECK(ncclAllGather(memory_, memory_ + floats, count / 8 + 1, ncclFloat16, comms_.world,
                          stream_));
      CHECK(ncclReduceScatter(memory_, memory_ + floats, count / 8 + 1, ncclFloat32, ncclSum,
                              comms_.world, stream_));
      CHECK(ncclBroadcast(memory_, memory_, count, ncclFloat64, 1, comms_.second, stream_));
      CHECK(ncclReduce(memory_, memory_, count, ncclInt32, ncclMax, 2, comms_.world, stream_));
    }
  }

  // NCCL carries out the largest first.
  void grouped() {
    CHECK(ncclGroupStart());
    for (const std::size_t count : {100U, 70000U, 100U, 5000U, 70000U}) {
      all_reduce(count, comms_.world);
      CHECK(ncclGroupStart());
      CHECK(ncclBroadcast(memory_, memory_, count, ncclUint8, 0, comms_.world, stream_));
      CHECK(ncclGroupEnd());
    }
    CHECK(ncclGroupEnd());
  }

  void two_communicators() {
    CHECK(ncclGroupStart());
    for (int i = 0; i < 3; ++i) {
      all_reduce(2048, comms_.world);
      all_reduce(2048, comms_.second);
      all_reduce(2048, comms_.alone);
    }
    CHECK(ncclGroupEnd());
  }

  void pairs() {
    const int next = (ranks_.rank + 1) % ranks_.size;
    const int last = (ranks_.rank + ranks_.size - 1) % ranks_.size;
    CHECK(ncclGroupStart());
    CHECK(ncclSend(memory_, 4096, ncclFloat32, next, comms_.world, stream_));
    CHECK(ncclRecv(memory_ + floats, 4096, ncclFloat32, last, comms_.world, stream_));
    CHECK(ncclGroupEnd());
    CHECK(ncclAlltoAll(memory_, memory_ + floats, 1024, ncclFloat32, comms_.world, stream_));
  }

  // Launched by a thread of NCCL's.
  void patient() {
    for (const std::size_t count : {12345U, 12345U, 100U, 12345U}) {
      wait_for_nccl(comms_.patient, ask(comms_.patient, count));
    }
    CHECK(ncclGroupStart());
    for (int i = 0; i < 3; ++i) all_reduce(12345, comms_.patient);
    wait_for_nccl(comms_.patient, ncclGroupEnd());
    wait_for_nccl(comms_.other_patient, ask(comms_.other_patient, 777));
    // Both at once: which of them is launched first, only their streams tell.
    const ncclResult_t first = ask(comms_.patient, 50);
    const ncclResult_t second = ask(comms_.other_patient, 60);
    wait_for_nccl(comms_.patient, first);
    wait_for_nccl(comms_.other_patient, second);
  }

  const demo::Ranks ranks_;
  cudaStream_t stream_ = nullptr, other_stream_ = nullptr;
  float* memory_ = nullptr;
  Communicators comms_;
};

}  // namespace
}  // namespace traceagent::programs

// `blocking`: nothing is launched by threads of NCCL's, so that all comes in the same order always.
int main(int argc, char** argv) try {
  const bool with_patient = argc < 2 || std::strcmp(argv[1], "blocking") != 0;
  traceagent::programs::Program(traceagent::demo::read_ranks()).run(with_patient);
  return 0;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "nccl_plans: %s\n", problem.what());
  return 1;
}
