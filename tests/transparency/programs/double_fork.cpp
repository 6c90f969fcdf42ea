// The grandchild of a child that is gone at once, in a session of its own.
#include <fcntl.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  int ends[2];
  if (pipe(ends) != 0) return 9;
  const int child = in_child([&] {
    setsid();
    if (fork() == 0) {
      say("grandchild %d\n", call_often());
      _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    return 5;
  });
  close(ends[1]);
  char byte = 0;
  const ssize_t got = read(ends[0], &byte, 1);
  say("child %d, grandchild wrote %zd\n", child, got);
  // The end of the file: the grandchild is gone, and nobody else holds the pipe.
  say("then %zd\n", read(ends[0], &byte, 1));
  say_state("end");
  return 0;
}
