// Four threads launch on streams of their own and on the default stream. Also built with
// --default-stream per-thread and with -cudart static.
#include <thread>
#include <vector>

#include "gpu_program.cuh"

constexpr int threads = 4, launches = 50, count = 1 << 16;

extern "C" __global__ void add_one(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1.0f;
}

extern "C" __global__ void on_default_stream(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] *= 0.5f;
}

struct Work {
  float* data = nullptr;
  float* pinned = nullptr;
  cudaStream_t stream = nullptr;
};

static void work_of_a_thread(Work& work) {
  constexpr std::size_t bytes = count * sizeof(float);
  CHECK(cudaMemcpyAsync(work.data, work.pinned, bytes, cudaMemcpyHostToDevice, work.stream));
  gpu::truth().copy("HtoD", bytes);
  for (int i = 0; i < launches; ++i)
    add_one<<<count / 256, 256, 0, work.stream>>>(work.data, count);
  gpu::truth().kernel("add_one", launches);
  CHECK(cudaMemsetAsync(work.data, 0, bytes / 2, work.stream));
  gpu::truth().set(bytes / 2);
  CHECK(cudaStreamSynchronize(work.stream));
  on_default_stream<<<count / 256, 256>>>(work.data, count);
  gpu::truth().kernel("on_default_stream");
  CHECK(cudaGetLastError());
}

int main() {
  std::vector<Work> all(threads);
  for (Work& work : all) {
    CHECK(cudaMalloc(&work.data, count * sizeof(float)));
    CHECK(cudaMallocHost(&work.pinned, count * sizeof(float)));
    for (int i = 0; i < count; ++i) work.pinned[i] = static_cast<float>(i % 7);
    CHECK(cudaStreamCreateWithFlags(&work.stream, cudaStreamNonBlocking));
  }
  gpu::run_steps([&](int) {
    std::vector<std::thread> running;
    for (Work& work : all) running.emplace_back([&work] { work_of_a_thread(work); });
    for (std::thread& thread : running) thread.join();
  });
  for (const Work& work : all) std::printf("sum %.1f\n", gpu::sum_of(work.data, count));
  return 0;
}
