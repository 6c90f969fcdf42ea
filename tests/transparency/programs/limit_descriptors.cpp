// RLIMIT_NOFILE with none free at the first call, and few later.
#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  const rlimit limit{40, 40};
  setrlimit(RLIMIT_NOFILE, &limit);
  int last = 0;
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) last = fd;
  say("none left: %d\n", errno == EMFILE ? 1 : 0);
  say("calls %d\n", call_often());
  // As many as the agent's threads have in hand at one moment, and one: the last one is not kept
  // by the agent, but it is had for a microsecond (README.md, what it does not do).
  for (int fd = last - 3; fd <= last; ++fd) close(fd);
  const int again = open("/dev/null", O_RDONLY);
  say("can open %d, calls %d\n", again >= 0 ? 1 : 0, call_often());
  close(again);  // the state is read from files
  say_state("end");
  return 3;
}
