// Becomes nobody before or after the first call (root); the rights it has left are the same.
#include <grp.h>
#include <sys/prctl.h>

#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  const bool is_after = std::strcmp(argv[1], "after") == 0;
  if (is_after) call_often();
  if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 77;
  say("calls %d, device %d\n", call_often(), use_device());
  say("dumpable %d, root again %d\n", prctl(PR_GET_DUMPABLE), setuid(0) == 0 ? 1 : 0);
  say_state("end");
  return 3;
}
