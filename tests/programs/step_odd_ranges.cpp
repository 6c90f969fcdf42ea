// Data parallel, with ranges of a step's name that are no steps, or end otherwise than a loop's do:
//   --lone-range    one before the loop, which has none (--no-nvtx)
//   --unended       pushed ones (--no-nvtx), of which that of step 30 is never popped
//   --other-thread  started ones (--no-nvtx), of which another thread ends every tenth
//   --loader        another thread opens many, all the time
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <chrono>
#include <memory>
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

void train_step_in_started_range(Job& job, int step) {
  const nvtxRangeId_t range = nvtxRangeStartA("step");
  train_step(job);
  if (step % 10 == 0) {
    std::thread([range] { nvtxRangeEnd(range); }).join();
  } else {
    nvtxRangeEnd(range);
  }
}

void train_step_in_pushed_range(Job& job, int step) {
  constexpr int unended_step = 30;
  nvtxRangePushA("step");
  train_step(job);
  if (step != unended_step) nvtxRangePop();
}

class Loader {
 public:
  ~Loader() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void load() {
    while (!is_over_) {
      nvtxRangePushA("step");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      nvtxRangePop();
    }
  }

  std::atomic<bool> is_over_{false};
  std::thread thread_{[this] { load(); }};
};

void run(Job& job) {
  std::unique_ptr<Loader> loader;
  if (job.flag("--lone-range")) {
    nvtxRangePushA("iter");
    nvtxRangePop();
  }
  job.run([&](int step) {
    if (job.flag("--other-thread")) return train_step_in_started_range(job, step);
    if (job.flag("--unended")) return train_step_in_pushed_range(job, step);
    train_step(job);
    // Threads of which one is the first to use the name: the loop's.
    if (job.flag("--loader") && !loader) loader = std::make_unique<Loader>();
  });
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_odd_ranges", [=] {
    Job job(argc, argv, true, {"--lone-range", "--unended", "--other-thread", "--loader"});
    run(job);
  });
}
