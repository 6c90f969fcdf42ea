// A tiny RLIMIT_STACK, which is also the default of new threads.
#include <sys/resource.h>

#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  const rlimit limit{128 * 1024, 128 * 1024};
  setrlimit(RLIMIT_STACK, &limit);
  say("calls %d\n", call_often());
  std::thread([] { say("in a thread %d\n", call_often()); }).join();
  say_state("end");
  return 3;
}
