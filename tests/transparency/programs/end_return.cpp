// Returns from main, with words left in stdio's buffer.
#include <cstdio>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  std::printf("in the buffer");
  say_state("end");
  return 3;
}
