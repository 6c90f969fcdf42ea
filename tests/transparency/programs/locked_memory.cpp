// mlockall for all there is and will be.
#include <sys/mman.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("locked %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  return 3;
}
