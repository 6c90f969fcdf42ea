// A timer that interrupts calls a thousand times a second; its handler calls too.
#include <sys/time.h>

#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
volatile std::sig_atomic_t seen = 0;
}  // namespace

int main() {
  call_often();
  struct sigaction action {};
  action.sa_handler = [](int) { seen = seen + 1; };  // no SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  int sum = 0;
  while (seen < 60) sum |= call_often(100) == 100 ? 0 : 1;
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  say("other results %d\n", sum);
  say_state("end");
  return 0;
}
