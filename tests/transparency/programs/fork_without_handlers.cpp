// A child made by the system call itself, past every fork handler of libc.
#include <sys/syscall.h>

#include <csignal>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) {
    say("child %d\n", call_often());
    _exit(5);
  }
  say("child ended with %d\n", wait_for(child));
  say("parent %d\n", call_often());
  say_state("end");
  return 0;
}
