// Many threads whose first call is the process's first, at the same time.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  constexpr int count = 16;
  std::barrier together(count);
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      sum += call_often(10);
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("sum %d\n", sum.load());
  say_state("end");
  return 0;
}
