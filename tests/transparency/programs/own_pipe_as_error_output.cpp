// A daemon without standard descriptors, whose event loop has a pipe to itself under their numbers:
// what comes out of it in the end is what the loop would have read.
#include <fcntl.h>
#include <sys/epoll.h>

#include <cstdlib>
#include <initializer_list>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  const int kept[2] = {fcntl(STDOUT_FILENO, F_DUPFD, 20), fcntl(STDERR_FILENO, F_DUPFD, 20)};
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(each);
  const int loop = epoll_create1(0);
  int own[2];
  if (pipe2(own, O_NONBLOCK) != 0 || own[1] != STDERR_FILENO) return 1;
  const pid_t child = fork();
  if (child == 0) {
    call_often();
    std::exit(4);
  }
  const int code = wait_for(child);
  char text[512];
  const ssize_t got = read(own[0], text, sizeof text);
  dup2(kept[0], STDOUT_FILENO);
  dup2(kept[1], STDERR_FILENO);
  for (const int each : {kept[0], kept[1], loop}) close(each);
  say("the child ends with %d, in the pipe are %zd bytes\n", code, got > 0 ? got : 0);
  say_state("end");
  return 0;
}
