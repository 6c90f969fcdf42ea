// Calls CUDA and forks children that open a library, for as long as the agent's threads start, or
// while they write a window for each step. Prints how many of them came to an end.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main() {
  constexpr int children = 30;
  constexpr useconds_t pause_us = 20'000;
  constexpr unsigned patience_s = 10;
  int well = 0;
  for (int i = 0; i < children && well == i; ++i) {
    cudaDeviceSynchronize();
    const pid_t child = fork();
    if (child == 0) {
      alarm(patience_s);
      _exit(dlopen("libm.so.6", RTLD_NOW) != nullptr &&
                    dlopen("libresolv.so.2", RTLD_NOW) != nullptr
                ? 0
                : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) == child && status == 0) ++well;
    usleep(pause_us);
  }
  std::printf("%d of %d children\n", well, children);
  return 3;
}
