// Ended by a real segmentation fault.
#include <csignal>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  // Not known to the compiler: it would make something else of it.
  const unsigned long nowhere = std::strtoul("8", nullptr, 10);
  return *reinterpret_cast<volatile int*>(nowhere);
}
