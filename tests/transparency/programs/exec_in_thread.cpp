// A thread of several makes the process another program.
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  std::thread busy([] {
    for (;;) call_often(10);
  });
  std::thread other([] {
    call_often();
    execl("/bin/echo", "echo", "another program", nullptr);
  });
  other.join();
  busy.join();
  return 9;
}
