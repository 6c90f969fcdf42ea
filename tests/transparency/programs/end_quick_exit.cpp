// Calls quick_exit, with handlers registered before and after the first call.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
const int registered = std::at_quick_exit([] { say("first: %d\n", call_often()); });
}  // namespace

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  std::at_quick_exit([] { say("second\n"); });
  std::quick_exit(7);
}
