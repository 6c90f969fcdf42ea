// One GPU, no NCCL: a copy in, launches, the loss read back once per step.
#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");

void train_step(Job& job) {
  job.load_batch();
  for (int layer = 0; layer < 6; ++layer) {
    forward.launch(job.compute());
  }
  for (int layer = 0; layer < 6; ++layer) {
    backward.launch(job.compute());
  }
  job.optimize(optimizer);
  job.read_back();
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_single_gpu", [=] {
    Job job(argc, argv, false);
    job.run([&](int) { train_step(job); });
  });
}
