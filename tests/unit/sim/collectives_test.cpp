#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <map>

#include "tests/sim/nccl/functions.hpp"
#include "tests/unit/sim/two_ranks.hpp"

namespace traceagent::sim_test {
namespace {

using simgpu::Record;
using Number = simgpu::nccl::Number;

constexpr int rounds = 3000;  // round the ring of the meeting place more than once
constexpr std::size_t elements = 1'000'000;
// 20 us latency and 4 MB at 100 GB/s
constexpr std::int64_t cost_ns = 20'000 + 40'000;

TEST(Collectives, EndEverywhereAfterTheLastArrival) {
  on_each_rank("reduce", [](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    bool good = true;
    for (int i = 0; i < rounds; ++i) {
      if (i % 500 == 0) {
        usleep(rank == 0 ? 3000 : 100);
      }
      good = good && ncclAllReduce(nullptr, nullptr, elements, ncclFloat32, ncclSum, comm,
                                   stream) == ncclSuccess;
    }
    return good && cudaStreamSynchronize(stream) == cudaSuccess;
  });
  const TruthRecords first(truth_of("reduce", 0));
  const TruthRecords second(truth_of("reduce", 1));
  const auto on_first = device_work(first, Number::ncclAllReduce);
  const auto on_second = device_work(second, Number::ncclAllReduce);
  ASSERT_EQ(on_first.size(), rounds);
  ASSERT_EQ(on_second.size(), rounds);
  std::map<std::uint64_t, const Record*> by_seq;
  for (const Record* record : on_second) {
    by_seq[record->comm_seq] = record;
  }
  for (const Record* record : on_first) {
    const Record* other = by_seq.at(record->comm_seq);
    ASSERT_EQ(record->comm_hash, other->comm_hash);
    ASSERT_EQ(record->end_ns, other->end_ns);
    ASSERT_EQ(record->end_ns, std::max(record->begin_ns, other->begin_ns) + cost_ns);
  }
}

TEST(Collectives, SendMeetsItsReceive) {
  on_each_rank("pairs", [](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 300; ++i) {
      // A ring of two, in one group: without it each would wait for the other.
      if (ncclGroupStart() != ncclSuccess ||
          ncclSend(nullptr, elements, ncclFloat32, 1 - rank, comm, stream) != ncclSuccess ||
          ncclRecv(nullptr, elements, ncclFloat32, 1 - rank, comm, stream) != ncclSuccess ||
          ncclGroupEnd() != ncclSuccess) {
        return false;
      }
    }
    return cudaStreamSynchronize(stream) == cudaSuccess;
  });
  const TruthRecords first(truth_of("pairs", 0));
  const TruthRecords second(truth_of("pairs", 1));
  const auto sends = device_work(first, Number::ncclSend);
  const auto receives = device_work(second, Number::ncclRecv);
  ASSERT_EQ(sends.size(), 300U);
  ASSERT_EQ(receives.size(), 300U);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_EQ(sends[i]->comm_seq, receives[i]->comm_seq);
    ASSERT_EQ(sends[i]->end_ns, receives[i]->end_ns);
    ASSERT_EQ(sends[i]->end_ns, std::max(sends[i]->begin_ns, receives[i]->begin_ns) + cost_ns);
  }
}

TEST(Collectives, SplitMakesCommunicatorsOfOneColor) {
  on_each_rank("split", [](int rank, ncclComm_t comm) {
    ncclComm_t together = nullptr;
    ncclComm_t alone = nullptr;
    ncclComm_t none = nullptr;
    int size = 0;
    int place = -1;
    // Keys turn the order round.
    const bool made =
        ncclCommSplit(comm, 0, -rank, &together, nullptr) == ncclSuccess &&
        ncclCommSplit(comm, rank, 0, &alone, nullptr) == ncclSuccess &&
        ncclCommSplit(comm, rank == 0 ? 3 : NCCL_SPLIT_NOCOLOR, 0, &none, nullptr) == ncclSuccess;
    const bool places = made && ncclCommCount(together, &size) == ncclSuccess && size == 2 &&
                        ncclCommUserRank(together, &place) == ncclSuccess && place == 1 - rank &&
                        ncclCommCount(alone, &size) == ncclSuccess && size == 1 &&
                        (none != nullptr) == (rank == 0);
    return places && ncclCommDestroy(together) == ncclSuccess &&
           ncclCommDestroy(alone) == ncclSuccess;
  });
}

TEST(Collectives, OneProcessDrivesSeveralDevices) {
  on_each_rank("devices", [](int rank, ncclComm_t) {
    if (rank == 1) {
      return true;
    }
    ncclComm_t comms[3];
    if (ncclCommInitAll(comms, 3, nullptr) != ncclSuccess || ncclGroupStart() != ncclSuccess) {
      return false;
    }
    for (ncclComm_t comm : comms) {
      ncclAllReduce(nullptr, nullptr, elements, ncclFloat32, ncclSum, comm, nullptr);
    }
    bool good = ncclGroupEnd() == ncclSuccess;
    for (int device = 0; device < 3; ++device) {
      good = good && cudaSetDevice(device) == cudaSuccess &&
             cudaDeviceSynchronize() == cudaSuccess &&
             ncclCommDestroy(comms[device]) == ncclSuccess;
    }
    return good;
  });
  const TruthRecords truth(truth_of("devices", 0));
  const auto work = device_work(truth, Number::ncclAllReduce);
  ASSERT_EQ(work.size(), 3U);
  EXPECT_EQ(work[0]->end_ns, work[1]->end_ns);
  EXPECT_EQ(work[0]->end_ns, work[2]->end_ns);
}

TEST(Collectives, NothingStaysInSharedMemory) {
  on_each_rank("clean", [](int, ncclComm_t) { return true; });
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().rfind("simgpu-", 0) == 0) {
      // Another test's ranks may just be meeting; ours are done.
      EXPECT_LT(std::filesystem::file_time_type::clock::now() - entry.last_write_time(),
                std::chrono::minutes(2))
          << entry.path();
    }
  }
}

}  // namespace
}  // namespace traceagent::sim_test
