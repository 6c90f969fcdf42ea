// Nobody catches an exception.
#include <stdexcept>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  throw std::runtime_error("not caught");
}
