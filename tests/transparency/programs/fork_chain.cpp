// Eight generations, each of which calls.
#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
int generation(int number) {
  const int result = call_often(2);
  const int code = number == 0 ? 0 : in_child([number] { return generation(number - 1); });
  say("generation %d: %d, its child %d\n", number, result, code);
  return number;
}
}  // namespace

int main() {
  const int code = generation(8);
  say_state("end");
  return code;
}
