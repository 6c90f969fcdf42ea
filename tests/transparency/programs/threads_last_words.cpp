// Threads that call in destructors of thread-local objects and of keys.
#include <pthread.h>

#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
struct Last {
  int touched = 0;
  ~Last() { say("thread-local %d\n", call_often()); }
};
thread_local Last last;
pthread_key_t key;
int rounds = 0;

void last_words(void* value) {
  say("key %d\n", call_often());
  if (++rounds % 3 != 0) pthread_setspecific(key, value);
}
}  // namespace

int main() {
  pthread_key_create(&key, last_words);
  for (int i = 0; i < 4; ++i) {
    std::thread([] {
      last.touched = 1;
      pthread_setspecific(key, &last);
      call_often();
    }).join();
  }
  say("then %d\n", call_often());
  say_state("end");
  return 0;
}
