// A thread that is cancelled before the first call of the process, which it makes.
#include <pthread.h>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
void* first_to_call(void*) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  // A request is pending: what is a cancellation point now ends the thread. Memsets are none.
  const int result = call_often(3);
  say("not reached by a cancelled thread? %d\n", result);
  return nullptr;
}
}  // namespace

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, first_to_call, nullptr);
  void* result = nullptr;
  pthread_join(thread, &result);
  say("cancelled %d, then %d\n", result == PTHREAD_CANCELED ? 1 : 0, call_often());
  say_state("end");
  return 0;
}
