// Every thread blocks a signal and one waits for it: nobody else may take it.
#include <pthread.h>

#include <csignal>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  use_device();
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  int got = 0;
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) {
    kill(getpid(), signal);
    usleep(5'000);
    int taken = 0;
    sigwait(&signals, &taken);
    got += taken == signal ? 1 : 0;
  }
  say("got %d, then %d\n", got, call_often());
  say_state("end");
  return 0;
}
