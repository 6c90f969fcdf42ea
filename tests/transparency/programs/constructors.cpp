// Static objects of the program and of its library that call before main, and after it.
#include <cstdlib>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

extern "C" int called_in_constructor();

namespace {
struct Early {
  int calls = call_often();
  ~Early() { say("static object gone: %d, device %d\n", call_often(), use_device()); }
};
const Early early;
}  // namespace

int main() {
  say("library %d, static object %d\n", called_in_constructor(), early.calls);
  say_state("end");
  return 3;
}
