// A terminate handler of its own that calls and exits.
#include <exception>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
const auto before = std::set_terminate([] {
  say("terminated %d\n", call_often());
  _exit(8);
});
}  // namespace

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  throw 7;
}
