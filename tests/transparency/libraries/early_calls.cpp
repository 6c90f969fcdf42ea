// A library of the program: its constructor calls before the agent's own ran, its destructor after.
#include "tests/transparency/work.hpp"

using traceagent::transparency::call_often;
using traceagent::transparency::say;

namespace {
int early = -1;

[[gnu::constructor]] void first() { early = call_often(); }
[[gnu::destructor]] void last() { say("library gone: %d\n", call_often()); }
}  // namespace

extern "C" [[gnu::visibility("default")]] int called_in_constructor() { return early; }
