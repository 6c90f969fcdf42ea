// Ranges with the longest names, made of what takes most room in a trace: written, its ring's bytes
// become more than a hundred times as many. Then it waits to be killed.
//
//   long_names RANGES
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const int ranges = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::string name(4000, '\x01');
  for (int step = 0; step < 2; ++step) cudaDeviceSynchronize();  // the second begins a window
  for (int i = 0; i < ranges; ++i) {
    nvtxRangePushA(name.c_str());
    nvtxRangePop();
  }
  cudaDeviceSynchronize();
  std::printf("%d ranges\n", ranges);
  std::fflush(stdout);
  pause();
}
