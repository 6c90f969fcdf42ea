// Calls _exit: what is left in stdio's buffer is lost.
#include <cstdio>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::printf("in the buffer");
  _exit(5);
}
