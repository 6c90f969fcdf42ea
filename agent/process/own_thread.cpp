#include "agent/process/own_thread.hpp"

#include <pthread.h>

#include <csignal>

namespace traceagent::process {

int start_own_thread(std::size_t stack_bytes, const char* name, void* (*run)(void*),
                     void* argument) noexcept {
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  // Refused, it is the default stack, which is better than none.
  static_cast<void>(pthread_attr_setstacksize(&attributes, stack_bytes));
  sigset_t all, before;
  sigfillset(&all);
  result = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (result == 0) result = pthread_sigmask(SIG_SETMASK, &all, &before);
  if (result == 0) {
    pthread_t thread;
    result = pthread_create(&thread, &attributes, run, argument);
    if (result == 0 && name != nullptr) pthread_setname_np(thread, name);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  pthread_attr_destroy(&attributes);
  return result;
}

}  // namespace traceagent::process
