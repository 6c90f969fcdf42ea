// exit in an exit handler, and in the destructor of a static.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
struct Last {
  ~Last() {
    say("destructor %d\n", call_often());
    say_state("end");
    _exit(12);
  }
};
const Last last;
}  // namespace

int main() {
  call_often();
  std::atexit([] {
    say("handler %d\n", call_often());
    std::exit(11);
  });
  std::exit(10);
}
