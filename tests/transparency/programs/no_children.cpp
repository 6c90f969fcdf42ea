// wait() finds no child, and no SIGCHLD comes.
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
volatile std::sig_atomic_t died = 0;
}  // namespace

int main() {
  std::signal(SIGCHLD, [](int) { died = died + 1; });
  say("calls %d, device %d\n", call_often(), use_device());
  usleep(50'000);
  const pid_t found = wait(nullptr);
  say("wait %d errno is ECHILD %d, died %d\n", found, errno == ECHILD ? 1 : 0,
      static_cast<int>(died));
  say_state("end");
  return 0;
}
