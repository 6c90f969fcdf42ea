// An alternate stack: a handler that calls on it, and one that survives a stack overflow.
#include <csetjmp>
#include <csignal>
#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
alignas(16) char alternate[128 * 1024];
sigjmp_buf back;

void overflow_caught(int) {
  say("overflow: %d\n", call_often());
  siglongjmp(back, 1);
}

[[gnu::noinline]] int grow(int depth) {
  volatile char page[4096];
  std::memset(const_cast<char*>(page), depth, sizeof page);
  if (depth < 0) return page[17];  // never: the compiler must not know
  return grow(depth + 1) + page[17];
}
}  // namespace

int main() {
  const stack_t stack{alternate, 0, sizeof alternate};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  action.sa_handler = [](int) { say("on the other stack: %d\n", call_often()); };
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = overflow_caught;
  sigaction(SIGSEGV, &action, nullptr);
  std::raise(SIGUSR1);  // the very first call is made there
  say("calls %d\n", call_often());
  if (sigsetjmp(back, 1) == 0) return grow(0);
  say("back: %d\n", call_often());
  say_state("end");
  return 3;
}
