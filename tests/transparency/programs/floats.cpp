// Rounding mode and trapping of floating point, kept over calls and in nobody's way.
#include <cfenv>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  std::fesetround(FE_UPWARD);
  feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);
  say("calls %d\n", call_often());
  usleep(250'000);
  say("calls %d, round %d, traps %d\n", call_often(), std::fegetround() == FE_UPWARD ? 1 : 0,
      fegetexcept());
  fedisableexcept(FE_ALL_EXCEPT);
  say_state("end");
  return 0;
}
