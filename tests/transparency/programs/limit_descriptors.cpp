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
  close(last);
  const int again = open("/dev/null", O_RDONLY);
  say("same number %d, calls %d\n", again == last ? 1 : 0, call_often());
  close(again);  // the state is read from files
  say_state("end");
  return 3;
}
