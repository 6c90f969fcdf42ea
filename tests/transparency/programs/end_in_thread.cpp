// exit in another thread while main calls.
#include <cstdlib>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::thread([] {
    usleep(20'000);
    std::exit(6);
  }).detach();
  for (;;) call_often(20);
}
