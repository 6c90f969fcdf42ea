// chroot into an empty folder before or after the first call (root).
#include <sys/stat.h>

#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  const bool is_after = std::strcmp(argv[1], "after") == 0;
  if (is_after) call_often();
  if (mkdir("root", 0700) != 0 || chroot("root") != 0 || chdir("/") != 0) return 77;
  say("calls %d\n", call_often());
  say("shm %d\n", access("/dev/shm", F_OK));
  say_state("end");
  return 3;
}
