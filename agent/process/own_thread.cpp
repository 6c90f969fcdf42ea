#include "agent/process/own_thread.hpp"

#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>

#include "agent/event/fork_hold.hpp"

namespace traceagent::process {

namespace {

int add_thread_locals(dl_phdr_info* object, std::size_t, void* sum) noexcept {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type == PT_TLS) *static_cast<std::size_t*>(sum) += part.p_memsz + part.p_align;
  }
  return 0;
}

// What libc puts on each thread's stack beside the stack itself: the job's thread-local variables,
// which may fill all that was asked for. Too much by those of what it has opened.
std::size_t thread_local_bytes() noexcept {
  std::size_t sum = 0;
  dl_iterate_phdr(add_thread_locals, &sum);
  return sum;
}

}  // namespace

int start_own_thread(std::size_t stack_bytes, const char* name, void* (*run)(void*),
                     void* argument) noexcept {
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  // The loader's list has a lock, and a thread's memory may be malloc's.
  const event::ForkHold hold;
  // Refused, it is the default stack, which is better than none.
  static_cast<void>(pthread_attr_setstacksize(&attributes, stack_bytes + thread_local_bytes()));
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

void leave_starters_scheduling() noexcept {
  const sched_param ordinary{};
  const int own_class = sched_getscheduler(0);
  if (own_class == SCHED_FIFO || own_class == SCHED_RR) {
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
  }
  // A machine of more than 1,024 CPUs refuses a set of this size: then it stays as it is.
  cpu_set_t process, own;
  if (sched_getaffinity(getpid(), sizeof process, &process) != 0) return;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return;
  // The first thread may be the pinned one.
  if (CPU_COUNT(&process) <= CPU_COUNT(&own)) return;
  sched_setaffinity(0, sizeof process, &process);
}

}  // namespace traceagent::process
