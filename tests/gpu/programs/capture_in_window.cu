// Captures in global mode, which an unsafe call of any thread of the process ends. Each step begins
// within one: so whoever watches switches itself on and off, and opens and closes its window,
// there.
#include "gpu_program.cuh"

constexpr int steps = 6, first_recorded = 3, recorded = 2, nodes = 4, count = 1 << 16;

extern "C" __global__ void captured(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1.0f;
}

static cudaGraphExec_t capture_across_step_begin(cudaStream_t stream, float* data) {
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  nvtxRangePushA("step");
  usleep(static_cast<useconds_t>(gpu::settle_seconds() / 2 * 1e6));
  for (int i = 0; i < nodes; ++i) captured<<<count / 256, 256, 0, stream>>>(data, count);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return executable;
}

int main() {
  float* data = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  CHECK(cudaMemset(data, 0, count * sizeof(float)));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  for (int step = 0; step < steps; ++step) {
    const cudaGraphExec_t graph = capture_across_step_begin(stream, data);
    CHECK(cudaGraphLaunch(graph, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(graph));
    gpu::truth().record(step >= first_recorded && step < first_recorded + recorded);
    gpu::truth().kernel("captured", nodes);
    nvtxRangePop();
  }
  std::printf("sum %.1f\n", gpu::sum_of(data, count));
  gpu::truth().print();
  return 0;
}
