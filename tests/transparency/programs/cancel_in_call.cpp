// Threads that are cancelled within calls, with handlers that call.
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
void clean_up(void*) { say("clean-up %d\n", call_often()); }

void* wait_in_call(void*) {
  pthread_cleanup_push(clean_up, nullptr);
  for (;;)
    cudaLaunchHostFunc(
        nullptr, [](void*) { usleep(1'000'000); }, nullptr);
  pthread_cleanup_pop(0);
  return nullptr;
}
}  // namespace

int main() {
  call_often();
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_in_call, nullptr);
    usleep(5'000);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    say("cancelled %d\n", result == PTHREAD_CANCELED ? 1 : 0);
  }
  say("then %d\n", call_often());
  say_state("end");
  return 0;
}
