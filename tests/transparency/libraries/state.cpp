// say_state for programs that are not C++.
#include "tests/transparency/work.hpp"

extern "C" [[gnu::visibility("default")]] void say_state(const char* when) {
  traceagent::transparency::say_state(when);
}
