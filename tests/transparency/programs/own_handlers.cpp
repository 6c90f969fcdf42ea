// Handlers of its own for what ends a program, kept over the calls.
#include <csignal>
#include <initializer_list>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
volatile std::sig_atomic_t seen = 0;
void note(int) { seen = seen + 1; }
}  // namespace

int main() {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGPIPE, SIGABRT})
    std::signal(signal, note);
  say_state("before");
  call_often();
  use_device();
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP, SIGPIPE, SIGABRT}) {
    std::raise(signal);
    call_often();
  }
  say("seen %d\n", static_cast<int>(seen));
  say_state("after");
  return 3;
}
