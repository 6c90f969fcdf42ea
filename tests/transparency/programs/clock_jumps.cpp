// Calls while CLOCK_REALTIME jumps (the preloaded clock sees to that).
#include <ctime>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  int sum = 0;
  for (int i = 0; i < 40; ++i) {
    sum += call_often();
    usleep(1'000);
  }
  say("sum %d\n", sum);
  say_state("end");
  return 3;
}
