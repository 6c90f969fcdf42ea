// Ended by an alarm in the middle of its calls.
#include <sys/time.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  const itimerval once{{0, 0}, {0, 20'000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (;;) call_often(20);
}
