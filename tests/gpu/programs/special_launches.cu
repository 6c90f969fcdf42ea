// Cooperative and cluster launches, where the device has them.
#include <cooperative_groups.h>

#include "gpu_program.cuh"

constexpr int count = 1 << 14;

extern "C" __global__ void whole_grid(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1.0f;
  cooperative_groups::this_grid().sync();
  if (i < n) data[i] += data[n - 1 - i] * 0.0f + 1.0f;
}

extern "C" __global__ void in_clusters(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 2.0f;
}

static int attribute(cudaDeviceAttr what) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, what, 0));
  return value;
}

static void launch_cooperative(float* data) {
  int n = count;
  void* arguments[] = {&data, &n};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(whole_grid), dim3(count / 256),
                                    dim3(256), arguments, 0, nullptr));
  gpu::truth().kernel("whole_grid");
}

static void launch_clusters(float* data) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 4;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(count / 256);
  config.blockDim = dim3(256);
  config.attrs = &cluster;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, in_clusters, data, count));
  gpu::truth().kernel("in_clusters");
}

int main() {
  const bool cooperative = attribute(cudaDevAttrCooperativeLaunch) != 0;
  const bool clusters = attribute(cudaDevAttrComputeCapabilityMajor) >= 9;
  std::printf("cooperative %d, clusters %d\n", cooperative, clusters);
  float* data = nullptr;
  CHECK(cudaMalloc(&data, count * sizeof(float)));
  CHECK(cudaMemset(data, 0, count * sizeof(float)));
  gpu::run_steps([&](int) {
    for (int i = 0; i < 10; ++i) {
      if (cooperative) launch_cooperative(data);
      if (clusters) launch_clusters(data);
    }
  });
  std::printf("sum %.1f\n", gpu::sum_of(data, count));
  return 0;
}
