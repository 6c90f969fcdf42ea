// Four micro batches to one optimizer step. Gradients are reduced in the last micro batch only
// (default, --no-sync) or in each (--sync-each).
#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");
constexpr int micro_batches = 4;
constexpr std::size_t buckets[] = {131072, 131072, 4096};

void micro_batch(Job& job, bool reduce) {
  job.load_batch();
  for (int layer = 0; layer < 4; ++layer) {
    forward.launch(job.compute());
  }
  for (const std::size_t bucket : buckets) {
    backward.launch(job.compute());
    if (reduce) {
      job.reduce_bucket(bucket);
    }
  }
}

void train_step(Job& job) {
  for (int micro = 0; micro < micro_batches; ++micro) {
    micro_batch(job, job.flag("--sync-each") || micro == micro_batches - 1);
  }
  job.join_communication();
  job.optimize(optimizer);
  job.read_back();
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_grad_accumulation", [=] {
    Job job(argc, argv, true, {"--no-sync", "--sync-each"});
    job.run([&](int) { train_step(job); });
  });
}
