#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <thread>

#include "tests/programs/kernel.hpp"

namespace traceagent::sim_test {
namespace {

const programs::Kernel kernel("errors_kernel");
int not_a_handle[64];

template <class Handle>
Handle bad_handle() {
  return reinterpret_cast<Handle>(not_a_handle);
}

TEST(Errors, BadArgumentsGetTheApisCodes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMalloc(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&memory, std::size_t{1} << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(not_a_handle), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSynchronize(bad_handle<cudaStream_t>()), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(bad_handle<cudaEvent_t>(), nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchKernel(not_a_handle, dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(kernel.host_function(), dim3(1), dim3(1025), nullptr, 0, nullptr),
            cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaMemcpy(not_a_handle, not_a_handle, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Errors, LastErrorIsTheThreads) {
  cudaGetLastError();
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, HaveNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
}

TEST(Errors, NcclChecksItsArguments) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 2, id, 0), ncclInvalidArgument);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclBroadcast(nullptr, nullptr, 1, ncclFloat32, 1, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(nullptr, 1, ncclFloat32, -1, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(
      ncclAllReduce(nullptr, nullptr, 1, ncclFloat32, ncclSum, bad_handle<ncclComm_t>(), nullptr),
      ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 1, ncclFloat32, ncclSum, nullptr, nullptr),
            ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
}

}  // namespace
}  // namespace traceagent::sim_test
