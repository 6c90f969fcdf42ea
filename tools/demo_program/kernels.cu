#include "tools/demo_program/check.hpp"
#include "tools/demo_program/kernels.cuh"

namespace traceagent::demo {
namespace {

constexpr int tile = 16;
constexpr int line = 256;

__device__ int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void forward_layer_kernel(float* out, const float* in, const float* weights, int rows,
                                     int inner, int columns) {
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  if (row < rows && column < columns) {
    float sum = 0;
    for (int k = 0; k < inner; ++k) {
      sum += in[row * inner + k] * weights[k * columns + column];
    }
    out[row * columns + column] = sum > 0 ? sum : 0;
  }
}

__global__ void square_loss_kernel(float* loss, float* gradient, const float* out,
                                   const float* target, int count) {
  __shared__ float partial[line];
  const int i = global_index();
  const float difference = i < count ? out[i] - target[i] : 0;
  if (i < count) {
    gradient[i] = 2 * difference / count;
  }
  partial[threadIdx.x] = difference * difference / count;
  __syncthreads();
  for (int half = line / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) {
      partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(loss, partial[0]);
  }
}

__global__ void backward_relu_kernel(float* gradient, const float* out, int count) {
  const int i = global_index();
  if (i < count && out[i] <= 0) {
    gradient[i] = 0;
  }
}

__global__ void backward_weights_kernel(float* weight_gradient, const float* in,
                                        const float* gradient, int rows, int inner, int columns) {
  const int k = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  if (k < inner && column < columns) {
    float sum = 0;
    for (int row = 0; row < rows; ++row) {
      sum += in[row * inner + k] * gradient[row * columns + column];
    }
    weight_gradient[k * columns + column] = sum;
  }
}

__global__ void backward_input_kernel(float* in_gradient, const float* gradient,
                                      const float* weights, int rows, int inner, int columns) {
  const int row = blockIdx.y * tile + threadIdx.y;
  const int k = blockIdx.x * tile + threadIdx.x;
  if (row < rows && k < inner) {
    float sum = 0;
    for (int column = 0; column < columns; ++column) {
      sum += gradient[row * columns + column] * weights[k * columns + column];
    }
    in_gradient[row * inner + k] = sum;
  }
}

__global__ void optimizer_kernel(float* weights, const float* gradient, float rate, int count) {
  const int i = global_index();
  if (i < count) {
    weights[i] -= rate * gradient[i];
  }
}

__global__ void init_weights_kernel(float* weights, unsigned seed, float scale, int count) {
  const int i = global_index();
  if (i < count) {
    unsigned x = (seed + 1) * 747796405U + static_cast<unsigned>(i) * 2891336453U;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737U;
    x = (x >> 22) ^ x;
    weights[i] = (static_cast<float>(x) / 4294967296.0F - 0.5F) * scale;
  }
}

dim3 tiles(int rows, int columns) {
  return dim3((columns + tile - 1) / tile, (rows + tile - 1) / tile);
}

int lines(int count) { return (count + line - 1) / line; }

}  // namespace

void forward_layer(float* out, const float* in, const float* weights, int rows, int inner,
                   int columns, cudaStream_t stream) {
  forward_layer_kernel<<<tiles(rows, columns), dim3(tile, tile), 0, stream>>>(out, in, weights,
                                                                              rows, inner, columns);
  CHECK(cudaGetLastError());
}

void square_loss(float* loss, float* gradient, const float* out, const float* target, int count,
                 cudaStream_t stream) {
  square_loss_kernel<<<lines(count), line, 0, stream>>>(loss, gradient, out, target, count);
  CHECK(cudaGetLastError());
}

void backward_relu(float* gradient, const float* out, int count, cudaStream_t stream) {
  backward_relu_kernel<<<lines(count), line, 0, stream>>>(gradient, out, count);
  CHECK(cudaGetLastError());
}

void backward_weights(float* weight_gradient, const float* in, const float* gradient, int rows,
                      int inner, int columns, cudaStream_t stream) {
  backward_weights_kernel<<<tiles(inner, columns), dim3(tile, tile), 0, stream>>>(
      weight_gradient, in, gradient, rows, inner, columns);
  CHECK(cudaGetLastError());
}

void backward_input(float* in_gradient, const float* gradient, const float* weights, int rows,
                    int inner, int columns, cudaStream_t stream) {
  backward_input_kernel<<<tiles(rows, inner), dim3(tile, tile), 0, stream>>>(
      in_gradient, gradient, weights, rows, inner, columns);
  CHECK(cudaGetLastError());
}

void optimizer_step(float* weights, const float* gradient, float rate, int count,
                    cudaStream_t stream) {
  optimizer_kernel<<<lines(count), line, 0, stream>>>(weights, gradient, rate, count);
  CHECK(cudaGetLastError());
}

void init_weights(float* weights, unsigned seed, float scale, int count, cudaStream_t stream) {
  init_weights_kernel<<<lines(count), line, 0, stream>>>(weights, seed, scale, count);
  CHECK(cudaGetLastError());
}

}  // namespace traceagent::demo
