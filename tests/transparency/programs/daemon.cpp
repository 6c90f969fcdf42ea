// Becomes a daemon, closes everything, calls on after its parent has ended.
#include <fcntl.h>
#include <unistd.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("before %d\n", call_often());
  if (daemon(1, 0) != 0) return 9;
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  usleep(100'000);
  const int fd = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(fd, STDOUT_FILENO);
  say("daemon %d, descriptor %d\n", call_often(), fd);
  say_state("end");
  return 4;
}
