// Data parallel, with an evaluation of ten batches after every 50th step: forward only, one
// all-reduce of the metric at its end. The evaluation is no optimizer step.
#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"
#include "tests/sim/mark.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");
constexpr int evaluate_every = 50;
constexpr int evaluation_batches = 10;

void forward_pass(Job& job) {
  job.load_batch();
  for (int layer = 0; layer < 6; ++layer) {
    forward.launch(job.compute());
  }
}

void train_step(Job& job) {
  forward_pass(job);
  for (const std::size_t bucket : {std::size_t{200000}, std::size_t{200000}, std::size_t{5000}}) {
    backward.launch(job.compute());
    job.reduce_bucket(bucket);
  }
  job.join_communication();
  job.optimize(optimizer);
}

void evaluate(Job& job) {
  simgpu_mark("evaluation_begin", 0);
  for (int batch = 0; batch < evaluation_batches; ++batch) {
    forward_pass(job);
    job.read_back();
  }
  job.reduce_bucket(2);
  job.join_communication();
  job.read_back();
  simgpu_mark("evaluation", 0);
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_eval_every_50", [=] {
    Job job(argc, argv, true);
    job.run([&](int) { train_step(job); },
            [&](int step) {
              if (step % evaluate_every == 0) {
                evaluate(job);
              }
            });
  });
}
