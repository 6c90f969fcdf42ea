#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>

#include "tests/programs/kernel.hpp"
#include "tests/sim/nccl/functions.hpp"
#include "tests/unit/sim/two_ranks.hpp"

extern "C" cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*);
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t,
                                          cudaStream_t);

namespace traceagent::sim_test {
namespace {

using simgpu::Record;
using simgpu::RecordKind;
using Number = simgpu::nccl::Number;

const programs::Kernel kernel("fault_kernel");

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

bool reduce(ncclComm_t comm, cudaStream_t stream) {
  return ncclAllReduce(nullptr, nullptr, 1'000'000, ncclFloat32, ncclSum, comm, stream) ==
         ncclSuccess;
}

// Both ranks see that the second collective does not end, and get away by an abort.
bool second_hangs(ncclComm_t comm) {
  cudaStream_t stream = new_stream();
  const bool first = reduce(comm, stream) && cudaStreamSynchronize(stream) == cudaSuccess;
  const bool second = reduce(comm, stream);
  usleep(200'000);
  const bool hangs = cudaStreamQuery(stream) == cudaErrorNotReady;
  const bool aborted = ncclCommAbort(comm) == ncclSuccess;
  return first && second && hangs && aborted && cudaStreamSynchronize(stream) == cudaSuccess;
}

// on_each_rank destroys the communicator, which the body has already given up.
template <class Body>
auto ending(Body body) {
  return [=](int rank, ncclComm_t comm) {
    _exit(body(rank, comm) ? 0 : 1);
    return true;
  };
}

TEST(Faults, SlowLinkSlowsEveryoneDown) {
  on_each_rank(
      "slow_link",
      [](int, ncclComm_t comm) {
        cudaStream_t stream = new_stream();
        return reduce(comm, stream) && cudaStreamSynchronize(stream) == cudaSuccess;
      },
      "faults: [{slow_link: {ranks: [0, 1], factor: 10}}]\n");
  const TruthRecords first(truth_of("slow_link", 0));
  const TruthRecords second(truth_of("slow_link", 1));
  const auto one = device_work(first, Number::ncclAllReduce);
  const auto two = device_work(second, Number::ncclAllReduce);
  ASSERT_EQ(one.size(), 1U);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(one[0]->end_ns, std::max(one[0]->begin_ns, two[0]->begin_ns) + 600'000);
  EXPECT_EQ(two[0]->end_ns, one[0]->end_ns);
}

TEST(Faults, SlowRankHasSlowKernels) {
  on_each_rank(
      "slow_rank",
      [](int, ncclComm_t) {
        cudaStream_t stream = new_stream();
        kernel.launch(stream);
        return cudaStreamSynchronize(stream) == cudaSuccess;
      },
      "faults: [{slow_rank: {rank: 1, factor: 3}}]\n");
  const auto lasting = [](int rank) {
    const TruthRecords truth(truth_of("slow_rank", rank));
    const auto kernels = truth.select([](const Record& r) { return r.kind == RecordKind::device; });
    return kernels.size() == 1 ? kernels[0]->end_ns - kernels[0]->begin_ns : -1;
  };
  EXPECT_EQ(lasting(0), 10'000);
  EXPECT_EQ(lasting(1), 30'000);
}

TEST(Faults, RankThatNeverArrivesHangsTheOthers) {
  on_each_rank("never", ending([](int, ncclComm_t comm) { return second_hangs(comm); }),
               "faults: [{never_arrives: {rank: 1, from_collective: 1}}]\n");
}

TEST(Faults, CollectiveThatDiffersDoesNotEnd) {
  on_each_rank("differs", ending([](int, ncclComm_t comm) { return second_hangs(comm); }),
               "faults: [{differs: {rank: 0, collective: 1}}]\n");
}

TEST(Faults, CallsFailWhenTold) {
  on_each_rank(
      "errors",
      [](int rank, ncclComm_t comm) {
        void* memory = nullptr;
        int size = 0;
        const int first = cudaMalloc(&memory, 8);
        const int second = cudaMalloc(&memory, 8);
        const int third = cudaMalloc(&memory, 8);
        const int nccl = ncclCommCount(comm, &size);
        return first == 0 && second == (rank == 1 ? 46 : 0) && third == 0 && nccl == 3;
      },
      "faults:\n"
      "  - error: {rank: 1, function: cudaMalloc, call: 2, code: 46}\n"
      "  - error: {function: ncclCommCount, code: 3}\n");
}

TEST(Faults, SkewedClockMovesDeviceTimes) {
  on_each_rank(
      "skew",
      [](int, ncclComm_t) {
        cudaStream_t stream = new_stream();
        kernel.launch(stream);
        return cudaStreamSynchronize(stream) == cudaSuccess;
      },
      "faults: [{skewed_clock: {rank: 1, offset: 1000s}}]\n");
  const TruthRecords truth(truth_of("skew", 1));
  const auto device = truth.select([](const Record& r) { return r.kind == RecordKind::device; });
  const auto calls = truth.select([](const Record& r) { return r.kind == RecordKind::call; });
  ASSERT_EQ(device.size(), 1U);
  EXPECT_EQ(truth.header().clock_offset_ns, 1'000'000'000'000);
  EXPECT_GT(device[0]->begin_ns, calls[0]->begin_ns + 999'000'000'000);
}

TEST(Misuse, IsLoud) {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  int no_kernel = 0;
  EXPECT_DEATH(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), "simgpu: misuse: ");
  EXPECT_DEATH(__cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(&no_kernel), grid, block, nullptr,
                                  0, stream),
               "simgpu: misuse: __cudaLaunchKernel");
}

}  // namespace
}  // namespace traceagent::sim_test
