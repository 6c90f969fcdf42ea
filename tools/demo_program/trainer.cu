#include <utility>

#include "tools/demo_program/check.hpp"
#include "tools/demo_program/kernels.cuh"
#include "tools/demo_program/range.hpp"
#include "tools/demo_program/trainer.hpp"

namespace traceagent::demo {
namespace {

constexpr float learning_rate = 0.05F;

float* device_floats(int count) {
  float* memory = nullptr;
  CHECK(cudaMalloc(&memory, sizeof(float) * static_cast<std::size_t>(count)));
  return memory;
}

}  // namespace

Trainer::Trainer(const Options& options, const Ranks& ranks, ncclComm_t comm)
    : options_(options),
      ranks_(ranks.size),
      comm_(comm),
      weights_count_(options.hidden * options.hidden),
      batch_count_(options.batch * options.hidden),
      layers_(layers) {
  CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&communication_, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&step_done_, cudaEventDisableTiming));
  unsigned seed = 0;
  for (Layer& layer : layers_) {
    layer.weights = device_floats(weights_count_);
    layer.weight_gradient = device_floats(weights_count_);
    layer.out = device_floats(batch_count_);
    CHECK(cudaEventCreateWithFlags(&layer.gradient_ready, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&layer.reduced, cudaEventDisableTiming));
    const float scale = 4.0F / static_cast<float>(options_.hidden);
    init_weights(layer.weights, seed++, scale, weights_count_, compute_);
  }
  gradient_ = device_floats(batch_count_);
  next_gradient_ = device_floats(batch_count_);
  loss_ = device_floats(1);
  CHECK(cudaMallocHost(&host_loss_, sizeof(float)));
  CHECK(cudaMemsetAsync(loss_, 0, sizeof(float), compute_));
  CHECK(ncclGroupStart());
  for (Layer& layer : layers_) {
    CHECK(ncclBroadcast(layer.weights, layer.weights, static_cast<std::size_t>(weights_count_),
                        ncclFloat32, 0, comm_, compute_));
  }
  CHECK(ncclGroupEnd());
  CHECK(cudaStreamSynchronize(compute_));
}

Trainer::~Trainer() {
  cudaDeviceSynchronize();
  for (Layer& layer : layers_) {
    cudaEventDestroy(layer.reduced);
    cudaEventDestroy(layer.gradient_ready);
    cudaFree(layer.out);
    cudaFree(layer.weight_gradient);
    cudaFree(layer.weights);
  }
  cudaFreeHost(host_loss_);
  cudaFree(loss_);
  cudaFree(next_gradient_);
  cudaFree(gradient_);
  cudaEventDestroy(step_done_);
  cudaStreamDestroy(communication_);
  cudaStreamDestroy(compute_);
}

void Trainer::step(DataLoader& loader, int number) {
  const Range whole(options_.nvtx, "step", number);
  Batch* batch = nullptr;
  {
    const Range range(options_.nvtx, "data", number);
    batch = &loader.next(compute_);
  }
  const float* input = batch->device;
  {
    const Range range(options_.nvtx, "forward", number);
    forward(input);
  }
  {
    const Range range(options_.nvtx, "backward", number);
    backward(input, input + batch_count_);
  }
  loader.release(*batch, compute_);
  {
    const Range range(options_.nvtx, "optimizer", number);
    optimize();
  }
  ++steps_since_loss_;
  // One step may run ahead of the device, not more.
  CHECK(cudaEventSynchronize(step_done_));
  CHECK(cudaEventRecord(step_done_, compute_));
}

void Trainer::forward(const float* input) {
  for (Layer& layer : layers_) {
    forward_layer(layer.out, input, layer.weights, options_.batch, options_.hidden, options_.hidden,
                  compute_);
    input = layer.out;
  }
}

void Trainer::backward(const float* input, const float* target) {
  square_loss(loss_, gradient_, layers_.back().out, target, batch_count_, compute_);
  for (int i = layers - 1; i >= 0; --i) {
    Layer& layer = layers_[static_cast<std::size_t>(i)];
    const float* in = i == 0 ? input : layers_[static_cast<std::size_t>(i - 1)].out;
    backward_relu(gradient_, layer.out, batch_count_, compute_);
    backward_weights(layer.weight_gradient, in, gradient_, options_.batch, options_.hidden,
                     options_.hidden, compute_);
    reduce(layer);
    if (i != 0) {
      backward_input(next_gradient_, gradient_, layer.weights, options_.batch, options_.hidden,
                     options_.hidden, compute_);
      std::swap(gradient_, next_gradient_);
    }
  }
}

void Trainer::reduce(Layer& layer) {
  CHECK(cudaEventRecord(layer.gradient_ready, compute_));
  CHECK(cudaStreamWaitEvent(communication_, layer.gradient_ready, 0));
  CHECK(ncclAllReduce(layer.weight_gradient, layer.weight_gradient,
                      static_cast<std::size_t>(weights_count_), ncclFloat32, ncclSum, comm_,
                      communication_));
  CHECK(cudaEventRecord(layer.reduced, communication_));
}

void Trainer::optimize() {
  const float rate = learning_rate / static_cast<float>(ranks_);
  for (Layer& layer : layers_) {
    CHECK(cudaStreamWaitEvent(compute_, layer.reduced, 0));
    optimizer_step(layer.weights, layer.weight_gradient, rate, weights_count_, compute_);
  }
}

float Trainer::take_loss() {
  CHECK(cudaMemcpyAsync(host_loss_, loss_, sizeof(float), cudaMemcpyDeviceToHost, compute_));
  CHECK(cudaMemsetAsync(loss_, 0, sizeof(float), compute_));
  CHECK(cudaStreamSynchronize(compute_));
  const int steps = std::exchange(steps_since_loss_, 0);
  return steps == 0 ? 0 : *host_loss_ / static_cast<float>(steps);
}

}  // namespace traceagent::demo
