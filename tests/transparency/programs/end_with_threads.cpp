// Returns from main while threads still call.
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) call_often(20);
    }).detach();
  }
  usleep(30'000);
  say_state("end");
  return 3;
}
