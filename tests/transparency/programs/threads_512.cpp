// 512 threads at once, all in calls.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  constexpr int count = 512;
  std::barrier together(count);
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      sum += call_often(10);
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("sum %d\n", sum.load());
  say_state("end");
  return 0;
}
