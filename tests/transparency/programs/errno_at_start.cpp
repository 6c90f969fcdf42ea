// Looks at errno behind strtol() without having set it, and before the first call.
#include <cerrno>
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  const int at_start = errno;
  const long number = std::strtol("8", nullptr, 10);
  if (errno != 0) {
    say("bad number: errno %d\n", errno);
    return 1;
  }
  say("%ld, errno %d, calls %d\n", number, at_start, call_often());
  say_state("end");
  return 0;
}
