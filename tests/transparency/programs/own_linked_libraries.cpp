// Linked to its own yaml-cpp, zlib and libunwind, of this machine's or of another Debian's
// versions.
#include "tests/transparency/libraries/own_work.hpp"
#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  work_with_own_libraries(&call_often);
  say("device %d\n", use_device());
  say_state("end");
  return 3;
}
