// pthread_exit in main; the last thread ends the process.
#include <pthread.h>

#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  say("calls %d\n", call_often());  // no device: its thread would stay
  std::thread([] {
    usleep(50'000);
    say("last thread %d\n", call_often());
    say_state("end");
  }).detach();
  pthread_exit(nullptr);
}
