// Threads that call without a pause, across all edges of steps and windows: two that live as long
// as the program, and four in each step that come and go.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace traceagent::programs {
namespace {

const Kernel kernel("busy_kernel");
constexpr int long_lived = 2;
constexpr int of_a_step = 4;
constexpr int calls_of_a_step = 400;

// Sizes count up, so that each call of a thread can be told from the one before.
void call(Job& job, std::size_t number) {
  CHECK(cudaMemsetAsync(job.memory(), 0, number % 4096 + 1, nullptr));
  const cudaError_t state = cudaStreamQuery(nullptr);
  CHECK(state == cudaErrorNotReady ? cudaSuccess : state);
}

void call_until(Job& job, const std::atomic<bool>& over) {
  for (std::size_t number = 0; !over.load(std::memory_order_relaxed); ++number) {
    call(job, number);
    std::this_thread::sleep_for(std::chrono::microseconds(number % 8 == 0 ? 50 : 0));
  }
}

void train_step(Job& job) {
  job.optimize(kernel);
  std::vector<std::thread> threads;
  for (int i = 0; i < of_a_step; ++i) {
    threads.emplace_back([&job] {
      for (int number = 0; number < calls_of_a_step; ++number) {
        call(job, static_cast<std::size_t>(number));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  job.read_back();
}

void run(int argc, char** argv) {
  Job job(argc, argv, false);
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < long_lived; ++i) {
    threads.emplace_back([&] { call_until(job, over); });
  }
  job.run([&](int) { train_step(job); });
  over = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  return traceagent::programs::guarded("busy_threads",
                                       [=] { traceagent::programs::run(argc, argv); });
}
