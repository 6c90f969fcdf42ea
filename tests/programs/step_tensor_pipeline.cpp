// Four ranks: two pipeline stages of two tensor-parallel ranks. Every layer all-reduces among the
// tensor-parallel pair, activations and gradients go between the stages, and one all-reduce of a
// single number over all ranks (the gradient norm) precedes the optimizer.
#include <stdexcept>

#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace traceagent::programs {
namespace {

const Kernel attention("attention_kernel");
const Kernel mlp("mlp_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");
constexpr int micro_batches = 4;
constexpr int layers_per_stage = 3;
constexpr std::size_t activation_count = 32768;

class TensorPipeline {
 public:
  explicit TensorPipeline(Job& job) : job_(job), stage_(job.rank() / 2) {
    if (job.size() != 4) {
      throw std::runtime_error("wants 4 ranks: start it with mpirun -n 4");
    }
    CHECK(ncclCommSplit(job.world(), stage_, job.rank(), &tensor_, nullptr));
    CHECK(ncclCommSplit(job.world(), job.rank() % 2, job.rank(), &pipeline_, nullptr));
  }

  ~TensorPipeline() {
    cudaDeviceSynchronize();
    ncclCommDestroy(pipeline_);
    ncclCommDestroy(tensor_);
  }

  // One forward, one backward: the second stage starts to go back while the first still feeds it.
  void step() {
    if (stage_ == 0) {
      first_stage();
    } else {
      second_stage();
    }
    CHECK(ncclAllReduce(job_.memory(), job_.memory(), 1, ncclFloat32, ncclSum, job_.world(),
                        job_.compute()));
    job_.optimize(optimizer);
  }

 private:
  // The first stage loads the inputs, the last one the labels.
  void first_stage() {
    job_.load_batch();
    forward_layers();
    send();
    for (int micro = 1; micro < micro_batches; ++micro) {
      job_.load_batch();
      forward_layers();
      CHECK(ncclGroupStart());
      send();
      receive();
      CHECK(ncclGroupEnd());
      backward_layers();
    }
    receive();
    backward_layers();
  }

  void second_stage() {
    receive();
    for (int micro = 1; micro < micro_batches; ++micro) {
      job_.load_batch();
      forward_layers();
      backward_layers();
      CHECK(ncclGroupStart());
      send();
      receive();
      CHECK(ncclGroupEnd());
    }
    job_.load_batch();
    forward_layers();
    backward_layers();
    send();
  }

  void forward_layers() {
    for (int layer = 0; layer < layers_per_stage; ++layer) {
      attention.launch(job_.compute());
      reduce();
      mlp.launch(job_.compute());
      reduce();
    }
  }

  void backward_layers() {
    for (int layer = 0; layer < layers_per_stage; ++layer) {
      backward.launch(job_.compute());
      reduce();
    }
  }

  void reduce() {
    CHECK(ncclAllReduce(job_.memory(), job_.memory(), activation_count, ncclBfloat16, ncclSum,
                        tensor_, job_.compute()));
  }

  void send() {
    CHECK(ncclSend(job_.memory(), activation_count, ncclBfloat16, 1 - stage_, pipeline_,
                   job_.compute()));
  }

  void receive() {
    CHECK(ncclRecv(job_.memory(), activation_count, ncclBfloat16, 1 - stage_, pipeline_,
                   job_.compute()));
  }

  Job& job_;
  int stage_;
  ncclComm_t tensor_ = nullptr;
  ncclComm_t pipeline_ = nullptr;
};

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_tensor_pipeline", [=] {
    Job job(argc, argv, true);
    TensorPipeline pipeline(job);
    job.run([&](int) { pipeline.step(); });
  });
}
