#pragma once

#include <cuda_runtime.h>

/// Row-major matrices of floats. All launches are asynchronous on the given stream.
namespace traceagent::demo {

/// out[rows x columns] = relu(in[rows x inner] * weights[inner x columns])
void forward_layer(float* out, const float* in, const float* weights, int rows, int inner,
                   int columns, cudaStream_t stream);
/// loss += mean square of (out - target); gradient = its derivative
void square_loss(float* loss, float* gradient, const float* out, const float* target, int count,
                 cudaStream_t stream);
/// gradient becomes 0 where the layer's output was cut off by relu
void backward_relu(float* gradient, const float* out, int count, cudaStream_t stream);
/// weight_gradient[inner x columns] = transposed(in) * gradient
void backward_weights(float* weight_gradient, const float* in, const float* gradient, int rows,
                      int inner, int columns, cudaStream_t stream);
/// in_gradient[rows x inner] = gradient * transposed(weights)
void backward_input(float* in_gradient, const float* gradient, const float* weights, int rows,
                    int inner, int columns, cudaStream_t stream);
/// weights -= rate * gradient
void optimizer_step(float* weights, const float* gradient, float rate, int count,
                    cudaStream_t stream);
/// the same small random weights on every rank, from a seed
void init_weights(float* weights, unsigned seed, float scale, int count, cudaStream_t stream);

}  // namespace traceagent::demo
