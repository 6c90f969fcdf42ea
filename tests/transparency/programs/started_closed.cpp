// Runs itself with no standard descriptor open; its files get those numbers.
#include <fcntl.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int argc, char**) {
  if (argc == 1) {
    for (const int fd : {0, 1, 2}) close(fd);
    execl("/proc/self/exe", "started_closed", "again", nullptr);
    return 9;
  }
  const int first = open("first", O_WRONLY | O_CREAT, 0644);
  call_often();
  usleep(100'000);  // what the agent's start opens has the lowest number for a moment
  const int second = open("second", O_WRONLY | O_CREAT, 0644);
  const int third = open("third", O_WRONLY | O_CREAT, 0644);
  char text[100];
  std::snprintf(text, sizeof text, "%d %d %d: %d\n", first, second, third, call_often());
  for (const int fd : {first, second, third}) {
    if (write(fd, text, std::strlen(text)) < 0) return 4;
  }
  say_state("end");
  return 3;
}
