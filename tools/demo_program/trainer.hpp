#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <vector>

#include "tools/demo_program/data_loader.hpp"
#include "tools/demo_program/options.hpp"
#include "tools/demo_program/ranks.hpp"

namespace traceagent::demo {

/// Four square layers trained by gradient descent. Each layer's gradient is one bucket: it is
/// all-reduced on a second stream while the backward pass goes on with the layer before.
class Trainer {
 public:
  Trainer(const Options& options, const Ranks& ranks, ncclComm_t comm);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void step(DataLoader& loader, int number);
  /// The mean loss of the steps since it was last asked for; waits for the device.
  float take_loss();

  static constexpr int layers = 4;

 private:
  struct Layer {
    float* weights = nullptr;
    float* weight_gradient = nullptr;
    float* out = nullptr;
    cudaEvent_t gradient_ready{};
    cudaEvent_t reduced{};
  };

  void forward(const float* input);
  void backward(const float* input, const float* target);
  void reduce(Layer& layer);
  void optimize();

  const Options& options_;
  int ranks_;
  ncclComm_t comm_;
  int weights_count_;
  int batch_count_;
  cudaStream_t compute_{};
  cudaStream_t communication_{};
  cudaEvent_t step_done_{};
  std::vector<Layer> layers_;
  float* gradient_ = nullptr;       // of the current layer's output
  float* next_gradient_ = nullptr;  // of its input
  float* loss_ = nullptr;
  float* host_loss_ = nullptr;
  int steps_since_loss_ = 0;
};

}  // namespace traceagent::demo
