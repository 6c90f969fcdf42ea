// A handler for SIGTERM, set after the first calls, that calls the one before it if there was any.
#include <csignal>
#include <initializer_list>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
struct sigaction before;
volatile std::sig_atomic_t seen = 0;

void save_and_go_on(int signal) {
  seen = seen + 1;
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
}
}  // namespace

int main() {
  call_often();
  use_device();
  struct sigaction ours {};
  ours.sa_handler = save_and_go_on;
  for (const bool once : {false, true}) {
    ours.sa_flags = once ? static_cast<int>(SA_RESETHAND) : 0;
    struct sigaction found {};
    sigaction(SIGTERM, &ours, &found);
    if (!once) before = found;
    std::raise(SIGTERM);
    call_often();
  }
  say("seen %d\n", static_cast<int>(seen));
  say_state("after");
  return 3;
}
