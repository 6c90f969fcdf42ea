// A captured graph with two branches that run at the same time, replayed ten times a step.
#include "gpu_program.cuh"

constexpr int count = 1 << 16, replays = 10, nodes_of_a_branch = 3;

extern "C" __global__ void left_branch(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < 200 && i < n; ++round) data[i] = data[i] * 0.999f + 1.0f;
}

extern "C" __global__ void right_branch(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < 200 && i < n; ++round) data[i] = data[i] * 0.998f + 1.0f;
}

static cudaGraphExec_t capture(cudaStream_t main_stream, cudaStream_t side, float* left,
                               float* right) {
  cudaEvent_t fork, join;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaEventRecord(fork, main_stream));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  for (int i = 0; i < nodes_of_a_branch; ++i) {
    left_branch<<<16, 256, 0, main_stream>>>(left, count);
    right_branch<<<16, 256, 0, side>>>(right, count);
  }
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main_stream, join, 0));
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(main_stream, &graph));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

int main() {
  float *left = nullptr, *right = nullptr;
  for (float** data : {&left, &right}) {
    CHECK(cudaMalloc(data, count * sizeof(float)));
    CHECK(cudaMemset(*data, 0, count * sizeof(float)));
  }
  cudaStream_t main_stream, side;
  CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  const cudaGraphExec_t graph = capture(main_stream, side, left, right);
  gpu::run_steps([&](int) {
    for (int i = 0; i < replays; ++i) {
      CHECK(cudaGraphLaunch(graph, main_stream));
      gpu::truth().kernel("left_branch", nodes_of_a_branch);
      gpu::truth().kernel("right_branch", nodes_of_a_branch);
    }
  });
  std::printf("sums %.3f %.3f\n", gpu::sum_of(left, count), gpu::sum_of(right, count));
  return 0;
}
