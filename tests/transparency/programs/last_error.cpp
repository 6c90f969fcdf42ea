// The last error of a thread is what the program left, whatever happens in between.
#include <cuda_runtime_api.h>

#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  say("calls leave %d %d\n", static_cast<int>(cudaPeekAtLastError()),
      static_cast<int>(cudaGetLastError()));
  say("refused %d\n", static_cast<int>(cudaSetDevice(1000)));
  std::thread([] { say("elsewhere %d\n", static_cast<int>(cudaGetLastError())); }).join();
  usleep(60'000);
  say("device %d\n", use_device());
  say("peek %d, get %d, get again %d\n", static_cast<int>(cudaPeekAtLastError()),
      static_cast<int>(cudaGetLastError()), static_cast<int>(cudaGetLastError()));
  say_state("end");
  return 3;
}
