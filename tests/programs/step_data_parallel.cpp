// Data parallel: forward, backward with five buckets of different sizes, optimizer.
#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");
constexpr std::size_t buckets[] = {65536, 262144, 262144, 262144, 1000};

void train_step(Job& job, int step) {
  job.load_batch();
  CHECK(cudaMemsetAsync(job.memory(), 0, 4096, job.compute()));
  for (int layer = 0; layer < 8; ++layer) {
    forward.launch(job.compute());
  }
  for (const std::size_t bucket : buckets) {
    backward.launch(job.compute());
    backward.launch(job.compute());
    job.reduce_bucket(bucket);
  }
  job.join_communication();
  job.optimize(optimizer);
  if (step % 10 == 0) {
    job.read_back();
  }
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_data_parallel", [=] {
    Job job(argc, argv, true);
    job.run([&](int step) { train_step(job, step); });
  });
}
