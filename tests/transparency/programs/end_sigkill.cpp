// Ended by SIGKILL while other threads call.
#include <csignal>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::thread([] {
    for (;;) call_often(20);
  }).detach();
  usleep(20'000);
  std::raise(SIGKILL);
  return 9;
}
