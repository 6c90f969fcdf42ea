// Device work that is hard to show: names of any characters, kernels without length and kernels
// longer than a step, copies of nothing, calls that fail, threads' own default streams, more
// streams than a lane's number has room for, all devices of the machine.
//
//   odd_work STEPS STREAMS [all-devices] [no-wait]
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace {

using traceagent::programs::Kernel;

const Kernel plain("plain");
const Kernel quoted("a \"quoted\" \\ name\n\ttab \x01 <T>");
const Kernel zero("zero_kernel");
const Kernel slow("slow_kernel");
constexpr std::size_t bytes = 4096;

std::vector<cudaStream_t> make_streams(int count) {
  std::vector<cudaStream_t> streams(static_cast<std::size_t>(count));
  for (cudaStream_t& stream : streams) {
    CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1));
  }
  return streams;
}

void fail() {
  void* memory = nullptr;
  static_cast<void>(cudaMalloc(&memory, std::size_t{1} << 60));
  static_cast<void>(cudaGetLastError());
}

void launch_on_own_stream() {
  for (int i = 0; i < 5; ++i) plain.launch(cudaStreamPerThread);
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

void one_step(const std::vector<cudaStream_t>& streams, void* memory, int devices) {
  static char host[bytes];
  CHECK(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, streams[0]));
  CHECK(cudaMemcpyAsync(memory, host, 0, cudaMemcpyHostToDevice, streams[0]));
  fail();
  for (const cudaStream_t stream : streams) plain.launch(stream);
  quoted.launch(streams[0]);
  for (int i = 0; i < 4; ++i) zero.launch(streams.back());
  slow.launch(streams[0]);
  for (int device = 0; device < devices; ++device) {
    CHECK(cudaSetDevice(device));
    plain.launch(nullptr);
  }
  CHECK(cudaSetDevice(0));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(launch_on_own_stream);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const auto has = [&](std::string_view word) {
    return std::find(argv, argv + argc, word) != argv + argc;
  };
  const int steps = argc > 1 ? std::atoi(argv[1]) : 5;
  const auto streams = make_streams(argc > 2 ? std::atoi(argv[2]) : 3);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  int devices = 1;
  if (has("all-devices")) CHECK(cudaGetDeviceCount(&devices));
  for (int step = 0; step < steps; ++step) {
    one_step(streams, memory, devices);
    if (!has("no-wait")) CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaDeviceSynchronize());
}
