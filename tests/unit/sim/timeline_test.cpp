#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tests/programs/kernel.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/unit/sim/truth_records.hpp"

namespace traceagent::sim_test {
namespace {

const programs::Kernel kernel("timeline_kernel");  // 10 us by default

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  return stream;
}

cudaEvent_t recorded(cudaStream_t stream) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  return event;
}

double elapsed_us(cudaEvent_t from, cudaEvent_t to) {
  float ms = -1;
  EXPECT_EQ(cudaEventSynchronize(from), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(to), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, from, to), cudaSuccess);
  return std::round(static_cast<double>(ms) * 1e6) / 1e3;
}

// Slow copies, so that a stream can be kept busy with few bytes. Before main, and so before the
// first call reads the script.
const bool scripted = [] {
  const std::string path = scratch() / "slow_copies.yaml";
  std::ofstream(path) << "copies: {host_to_device: 25MB/s}\n";
  return setenv("SIMGPU_SCRIPT", path.c_str(), 1) == 0;
}();

/// Keeps a stream busy for 200 ms: what a test enqueues meanwhile, even on a loaded machine, finds
/// a full queue, and its device times are exact.
class Busy {
 public:
  Busy() {
    EXPECT_EQ(cudaMalloc(&device_, bytes), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&host_, bytes), cudaSuccess);
  }
  ~Busy() {
    cudaFreeHost(host_);
    cudaFree(device_);
  }
  void keep(cudaStream_t stream) {
    EXPECT_EQ(cudaMemcpyAsync(device_, host_, bytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
  }
  static constexpr std::size_t bytes = 5'000'000;
  static constexpr double us = 200'000 + 5;  // bytes over bandwidth, and the latency

 private:
  void* device_ = nullptr;
  void* host_ = nullptr;
};

TEST(Timeline, StreamIsAQueue) {
  Busy busy;
  cudaStream_t stream = new_stream();
  busy.keep(stream);
  const cudaEvent_t before = recorded(stream);
  for (int i = 0; i < 100; ++i) {
    kernel.launch(stream);
  }
  const cudaEvent_t after = recorded(stream);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(elapsed_us(before, after), 1000.0);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
}

TEST(Timeline, CopyLastsLatencyAndBytesOverBandwidth) {
  Busy busy;
  cudaStream_t stream = new_stream();
  busy.keep(stream);
  const cudaEvent_t before = recorded(stream);
  busy.keep(stream);
  const cudaEvent_t after = recorded(stream);
  EXPECT_NEAR(elapsed_us(before, after), Busy::us, 0.02);  // the event's float of milliseconds
}

TEST(Timeline, StreamsOverlap) {
  Busy busy;
  cudaStream_t first = new_stream();
  cudaStream_t second = new_stream();
  busy.keep(first);
  busy.keep(second);
  const cudaEvent_t first_done = recorded(first);
  kernel.launch(second);
  const cudaEvent_t second_done = recorded(second);
  // One after the other, the second would be done 200 ms after the first.
  EXPECT_LT(elapsed_us(first_done, second_done), 150'000.0);
}

TEST(Timeline, WaitingStreamGoesOnAfterTheEvent) {
  Busy busy;
  cudaStream_t first = new_stream();
  cudaStream_t second = new_stream();
  busy.keep(first);
  const cudaEvent_t ready = recorded(first);
  EXPECT_EQ(cudaStreamWaitEvent(second, ready, 0), cudaSuccess);
  kernel.launch(second);
  const cudaEvent_t done = recorded(second);
  EXPECT_EQ(elapsed_us(ready, done), 10.0);
}

TEST(Timeline, LegacyStreamHoldsUpBlockingStreamsOnly) {
  Busy busy;
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  cudaStream_t free_running = new_stream();
  busy.keep(nullptr);
  const cudaEvent_t legacy_done = recorded(nullptr);
  kernel.launch(blocking);
  kernel.launch(free_running);
  const cudaEvent_t blocking_done = recorded(blocking);
  const cudaEvent_t free_done = recorded(free_running);
  EXPECT_EQ(elapsed_us(legacy_done, blocking_done), 10.0);
  EXPECT_LT(elapsed_us(legacy_done, free_done), 0.0);
}

TEST(Timeline, GraphReplaysItsNodes) {
  Busy busy;
  cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  for (int i = 0; i < 7; ++i) {
    kernel.launch(stream);
  }
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  busy.keep(stream);
  const cudaEvent_t before = recorded(stream);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  const cudaEvent_t after = recorded(stream);
  EXPECT_EQ(elapsed_us(before, after), 140.0);
  cudaGetLastError();
}

TEST(Timeline, SynchronizeWaitsForTheDevice) {
  Busy busy;
  cudaStream_t stream = new_stream();
  const std::int64_t begin_ns = simgpu::now_ns();
  busy.keep(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_GE(simgpu::now_ns() - begin_ns, 200'005'000);
}

TEST(Timeline, HostFunctionRunsBetweenItsNeighbours) {
  cudaStream_t stream = new_stream();
  std::vector<int> order;
  kernel.launch(stream);
  const auto note = [](void* data) { static_cast<std::vector<int>*>(data)->push_back(1); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, note, &order), cudaSuccess);
  kernel.launch(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(order, std::vector<int>{1});
}

TEST(Timeline, CopiesReallyCopy) {
  std::vector<int> numbers(1000, 42);
  std::vector<int> back(1000, 0);
  void* device = nullptr;
  const std::size_t bytes = numbers.size() * sizeof(int);
  ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device, numbers.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(back, numbers);
  ASSERT_EQ(cudaMemset(device, 0xff, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, std::vector<int>(1000, -1));
  cudaFree(device);
}

}  // namespace
}  // namespace traceagent::sim_test
