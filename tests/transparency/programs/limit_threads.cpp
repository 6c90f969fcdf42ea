// RLIMIT_NPROC lets nobody make a thread (where not root).
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  if (setgroups(0, nullptr) != 0 || setgid(65534) != 0 || setuid(65534) != 0) return 77;
  const rlimit limit{1, 1};
  setrlimit(RLIMIT_NPROC, &limit);
  say("calls %d\n", call_often());
  say("then %d\n", call_often(500));
  say_state("end");
  return 3;
}
