// Forks before the first call; parent and child are both the first to call.
#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  const int code = in_child([] { return call_often() == 5 ? 5 : 6; });
  say("child %d parent %d\n", code, call_often());
  say_state("end");
  return 0;
}
