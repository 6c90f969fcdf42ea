// A child that outlives its parent, and calls before and after its end.
#include <fcntl.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  if (fork() == 0) {
    const int before = call_often();
    while (getppid() != 1 && usleep(20'000) == 0 && access("parent-ended", F_OK) != 0) {
    }
    usleep(50'000);
    const int fd = open("orphan", O_WRONLY | O_CREAT, 0644);
    dup2(fd, STDOUT_FILENO);
    say("orphan %d %d\n", before, call_often());
    say_state("orphan's end");
    return 0;
  }
  usleep(50'000);
  close(open("parent-ended", O_WRONLY | O_CREAT, 0644));
  say_state("end");
  return 3;
}
