// Threads with the smallest stack that glibc allows; the first call is made on one.
#include <pthread.h>

#include <climits>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The simulated GPU needs some of it itself.
  pthread_attr_setstacksize(&attributes, 4 * 16384);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    const auto body = [](void*) -> void* {
      say("calls %d\n", call_often());
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, body, nullptr) != 0) return 9;
    pthread_join(thread, nullptr);
  }
  say_state("end");
  return 0;
}
