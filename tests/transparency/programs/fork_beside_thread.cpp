// Forks while another thread is there, before the first call; the child calls, then the parent.
#include <atomic>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  std::atomic<bool> stop{false};
  std::thread idle([&stop] {
    while (!stop.load()) usleep(1000);
  });
  const int code = in_child([] { return call_often() == 5 ? 5 : 6; });
  stop.store(true);
  idle.join();
  say("child %d parent %d\n", code, call_often());
  say_state("end");
  return 0;
}
