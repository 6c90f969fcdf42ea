// Data parallel, each step in a started range of its own (--no-nvtx: the only ones), of which
// another thread ends every tenth.
#include <nvtx3/nvToolsExt.h>

#include <thread>

#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");
const Kernel optimizer("optimizer_kernel");

void train_step(Job& job) {
  job.load_batch();
  for (int layer = 0; layer < 6; ++layer) forward.launch(job.compute());
  for (const std::size_t bucket : {std::size_t{200000}, std::size_t{200000}, std::size_t{5000}}) {
    backward.launch(job.compute());
    job.reduce_bucket(bucket);
  }
  job.join_communication();
  job.optimize(optimizer);
  job.read_back();
}

void train_step_in_range(Job& job, int step) {
  const nvtxRangeId_t range = nvtxRangeStartA("step");
  train_step(job);
  if (step % 10 == 0) {
    std::thread([range] { nvtxRangeEnd(range); }).join();
  } else {
    nvtxRangeEnd(range);
  }
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_started_ranges", [=] {
    Job job(argc, argv, true);
    job.run([&](int step) { train_step_in_range(job, step); });
  });
}
