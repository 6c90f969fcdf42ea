// Its children live in a pid namespace of their own, whose first process is the first that is
// forked. Needs root.
#include <sched.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  if (unshare(CLONE_NEWPID) != 0) say("no namespace: errno %d\n", errno);
  say("calls %d\n", call_often());
  const pid_t first = fork();
  if (first == 0) {
    pause();
    _exit(1);
  }
  say("child %d\n", in_child([] { return getpid() == 2 ? 6 : 7; }));
  if (first > 0) kill(first, SIGKILL);
  say("first %d\n", wait_for(first));
  say_state("end");
  return 0;
}
