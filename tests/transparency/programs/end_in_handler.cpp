// A signal handler that calls _exit in the middle of malloc, whose lock it holds then: the blocks
// are more, and larger, than a thread's own cache has room for.
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
  for (;;) {
    void* volatile blocks[64];
    for (void* volatile& block : blocks) block = std::malloc(3000);
    for (void* volatile& block : blocks) std::free(block);
  }
}
