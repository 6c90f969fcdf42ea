// A child that calls, and ends by exit; one that calls nothing.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("parent %d\n", call_often());
  const int calling = in_child([]() -> int {
    say("child %d\n", call_often());
    std::exit(5);
  });
  const int silent = in_child([]() -> int { std::exit(6); });
  say("children %d %d, parent %d\n", calling, silent, call_often());
  say_state("end");
  return 3;
}
