// Takes its grandchildren as children, as the first process of a container does, and waits until
// there are none.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  say("calls %d, device %d\n", call_often(), use_device());
  if (fork() == 0) {
    if (fork() == 0) {
      usleep(50'000);
      _exit(4);
    }
    _exit(3);
  }
  int ended = 0;
  while (wait(nullptr) > 0) ++ended;
  say("ended %d, errno is ECHILD %d\n", ended, errno == ECHILD ? 1 : 0);
  say_state("end");
  return 0;
}
