// Thread-local variables that nearly fill a stack of 1 MiB: libc puts those of each thread
// there.
#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
thread_local char variables[1000 << 10];
}

int main() {
  std::memset(variables, 1, sizeof variables);
  say("calls %d, device %d, %d\n", call_often(), use_device(), variables[sizeof variables - 1]);
  say_state("end");
  return 3;
}
