// A process that hides its /proc from everybody.
#include <sys/prctl.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  prctl(PR_SET_DUMPABLE, 0);
  say("calls %d, dumpable %d\n", call_often(), prctl(PR_GET_DUMPABLE));
  say_state("end");
  return 3;
}
