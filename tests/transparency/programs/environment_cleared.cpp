// Clears its environment before the first call, and has one of its own after it.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

extern char** environ;

int main() {
  clearenv();
  say("first %d\n", call_often());
  char only[] = "ONLY=this";
  char* own[] = {only, nullptr};
  environ = own;
  say("second %d, child %d\n", call_often(), in_child([] { return call_often() == 5 ? 5 : 6; }));
  say_environment_of_child();
  say_state("end");
  return 0;
}
