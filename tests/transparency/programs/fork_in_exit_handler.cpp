// Forks in an exit handler, and the child calls.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
void at_end() {
  say("at the end: child %d\n", in_child([] { return call_often(3) != 0 ? 4 : 5; }));
}
}  // namespace

int main() {
  std::atexit(at_end);
  say("main %d\n", call_often());
  std::atexit(at_end);
  say_state("end");
  return 3;
}
