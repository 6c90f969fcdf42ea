// NVTX ranges, with the injection library that the environment names, or none.
#include <nvtx3/nvToolsExt.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  for (int i = 0; i < 5; ++i) {
    const int depth = nvtxRangePushA("outer");
    nvtxMarkA("mark");
    say("depth %d %d, calls %d\n", depth, nvtxRangePushA("inner"), call_often());
    say("pop %d %d\n", nvtxRangePop(), nvtxRangePop());
  }
  say_state("end");
  return 3;
}
