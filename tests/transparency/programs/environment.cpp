// What a child sees of the environment, before and after the first call.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say_environment_of_child();
  call_often();
  say_environment_of_child();
  setenv("MINE", "kept", 1);
  unsetenv("HOME");
  call_often();
  say_environment_of_child();
  say_state("end");
  return 0;
}
