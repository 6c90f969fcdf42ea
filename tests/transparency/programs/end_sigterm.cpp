// Ended by SIGTERM.
#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::raise(SIGTERM);
  return 9;
}
