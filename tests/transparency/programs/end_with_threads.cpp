// Returns from main while threads still call.
#include <atomic>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  static std::atomic<int> begun{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      call_often(20);
      ++begun;
      for (;;) call_often(20);
    }).detach();
  }
  while (begun.load() < 3) usleep(1'000);
  usleep(30'000);
  say_state("end");
  return 3;
}
