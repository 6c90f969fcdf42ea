// Forks while another thread is there, before the first call; the child calls, then the parent. The
// thread does nothing by then: while it starts it may be in a malloc that cares for no fork, whose
// lock is then held in the child for ever, whoever it is that calls malloc there.
#include <atomic>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  std::atomic<bool> is_there{false}, stop{false};
  std::thread idle([&] {
    is_there.store(true);
    while (!stop.load()) usleep(1000);
  });
  while (!is_there.load()) usleep(1000);
  const int code = in_child([] { return call_often() == 5 ? 5 : 6; });
  stop.store(true);
  idle.join();
  say("child %d parent %d\n", code, call_often());
  say_state("end");
  return 0;
}
