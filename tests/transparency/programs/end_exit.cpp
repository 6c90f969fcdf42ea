// Calls exit in a function, with words left in stdio's buffer.
#include <cstdio>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::printf("in the buffer");
  std::exit(4);
}
