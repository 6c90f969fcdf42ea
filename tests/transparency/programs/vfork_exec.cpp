// vfork with an exec that works, and one that fails and calls _exit in our memory.
#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
[[gnu::noinline]] int vfork_one(const char* program) {
  const pid_t child = vfork();
  if (child == 0) {
    execl(program, "true", nullptr);
    _exit(9);
  }
  return wait_for(child);
}
}  // namespace

int main() {
  call_often();
  const int there = vfork_one("/bin/true");
  const int missing = vfork_one("/no/such/program");
  say("vfork %d %d, then %d\n", there, missing, call_often());
  say_state("end");
  return 0;
}
