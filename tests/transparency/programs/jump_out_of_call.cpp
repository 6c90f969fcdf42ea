// longjmp out of calls, through the frames of whoever made them.
#include <cuda_runtime_api.h>

#include <csetjmp>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
jmp_buf back;
}  // namespace

int main() {
  volatile int jumps = 0;
  call_often();
  if (setjmp(back) != 0) jumps = jumps + 1;
  if (jumps < 2000) {
    cudaLaunchHostFunc(
        nullptr, [](void*) { longjmp(back, 1); }, nullptr);
    return 9;
  }
  say("jumps %d, then %d\n", static_cast<int>(jumps), call_often());
  say_state("end");
  return 3;
}
