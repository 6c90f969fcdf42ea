// C++ exceptions out of calls, through the frames of whoever made them.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
int depth = 0;

void throw_deep(void*) {
  if (++depth < 5) cudaLaunchHostFunc(nullptr, throw_deep, nullptr);
  throw std::runtime_error("through");
}
}  // namespace

int main() {
  call_often();
  int caught = 0;
  for (int i = 0; i < 500; ++i) {
    depth = 0;
    try {
      cudaLaunchHostFunc(nullptr, throw_deep, nullptr);
    } catch (const std::runtime_error&) {
      ++caught;
    }
  }
  say("caught %d, then %d\n", caught, call_often());
  say_state("end");
  return 3;
}
