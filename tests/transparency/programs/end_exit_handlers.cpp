// Exit handlers that call: registered before and after the first call, and by each other.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  std::atexit([] {
    say("first registered, device %d\n", use_device());
    std::atexit([] { say("registered while exiting: %d\n", call_often()); });
  });
  say("calls %d\n", call_often());
  std::atexit([] { say("second registered: %d\n", call_often()); });
  on_exit([](int code, void*) { say("on_exit %d: %d\n", code, call_often()); }, nullptr);
  say_state("end");
  return 3;
}
