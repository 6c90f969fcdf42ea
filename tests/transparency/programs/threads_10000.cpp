// Ten thousand short threads that call, one after another in groups.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  std::atomic<int> sum{0};
  for (int group = 0; group < 625; ++group) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) threads.emplace_back([&] { sum += call_often(1); });
    for (std::thread& thread : threads) thread.join();
  }
  say("sum %d\n", sum.load());
  say_state("end");
  return 0;
}
