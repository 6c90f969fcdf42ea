// As JAX trains: threads of its own try out kernels, then each step is one launch of a graph, and
// the host waits until it is called back, by no call that a door would see.
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"

namespace traceagent::programs {
namespace {

const Kernel tried("tried_kernel");
const Kernel forward("forward_kernel");
const Kernel backward("backward_kernel");

void try_kernels() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int each = 0; each < 20; ++each) tried.launch(nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  cudaDeviceSynchronize();
}

cudaGraphExec_t captured(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  forward.launch(stream);
  backward.launch(stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  return executable;
}

class Done {
 public:
  static void say(void* self) {
    auto& done = *static_cast<Done*>(self);
    const std::lock_guard lock(done.mutex_);
    done.is_done_ = true;
    done.changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_done_; });
    is_done_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
};

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  using namespace traceagent::programs;
  return guarded("step_graph", [=] {
    Job job(argc, argv, false);
    try_kernels();
    const cudaGraphExec_t graph = captured(job.compute());
    Done done;
    job.run([&](int) {
      cudaGraphLaunch(graph, job.compute());
      job.mark_optimizer();
      cudaLaunchHostFunc(job.compute(), &Done::say, &done);
      done.wait();
    });
    cudaGraphExecDestroy(graph);
  });
}
