// end_in_constructor LIBRARY: opens it, whose constructor ends the program.
#include <dlfcn.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  say("calls %d\n", call_often());
  say_state("end");
  dlopen(argv[1], RTLD_NOW);
  say("it goes on\n");
}
