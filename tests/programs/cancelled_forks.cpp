// Forks in threads that are to be cancelled: fork is no point at which that happens. The main
// thread calls CUDA meanwhile, a window for each step. Prints how many of the threads forked.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace {

std::atomic<int> forked{0};
std::atomic<int> ended{0};

void* fork_cancelled(void*) {
  pthread_cancel(pthread_self());
  const pid_t child = fork();
  if (child == 0) _exit(0);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  int status = 0;
  if (waitpid(child, &status, 0) == child && status == 0) ++forked;
  ++ended;
  return nullptr;
}

}  // namespace

int main() {
  constexpr int children = 30;
  cudaDeviceSynchronize();
  for (int i = 0; i < children; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, fork_cancelled, nullptr);
    // Until it has forked the main thread keeps the agent's at work.
    while (ended == i) {
      cudaDeviceSynchronize();
      usleep(1000);
    }
    pthread_join(thread, nullptr);
  }
  std::printf("%d of %d children\n", forked.load(), children);
  return 3;
}
