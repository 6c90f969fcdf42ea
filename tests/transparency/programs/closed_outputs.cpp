// Closes the standard descriptors that the word names, opens files in their place, and calls.
#include <fcntl.h>

#include <cstdio>
#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  // 0, 1, 2: closed before the first call. A file that gets such a number is the program's own.
  for (const char* c = argv[1]; *c != '\0'; ++c) close(*c - '0');
  const int calls = call_often();
  usleep(100'000);  // what the agent's start opens has the lowest number for a moment
  const int fd = open("own-file", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int more = call_often();
  char text[100];
  std::snprintf(text, sizeof text, "descriptor %d, calls %d %d\n", fd, calls, more);
  if (write(fd, text, std::strlen(text)) <= 0) return 4;
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) dup2(fd, STDOUT_FILENO);
  say_state("end");
  return 3;
}
