// The main thread ends by the system call alone, as without libc's threads: its code is the
// process's, and no exit handler runs.
#include <sys/syscall.h>

#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d\n", call_often());
  std::atexit([] { say("an exit handler\n"); });
  say_state("end");
  syscall(SYS_exit, 7);
}
