// A signal handler that calls and then _exit, in the middle of malloc.
#include <sys/time.h>

#include <csignal>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  say_state("end");
  std::signal(SIGALRM, [](int) { _exit(8); });
  const itimerval once{{0, 0}, {0, 20'000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (unsigned i = 0;; ++i) {
    void* volatile memory = std::malloc(100 + i % 1000);
    std::free(memory);
  }
}
