// Nobody catches what a callback throws out of a call.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  say_state("end");
  cudaLaunchHostFunc(
      nullptr, [](void*) { throw std::runtime_error("out of a call"); }, nullptr);
  return 9;
}
