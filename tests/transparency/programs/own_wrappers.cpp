// Wraps functions of libc that a library under it could call by name.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

// A program may define these for its own use, with its own meaning.
#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int fallocate(int, int, off_t, off_t) {
  errno = ENOSPC;
  return -1;
}
EXPORT int pthread_setname_np(unsigned long, const char*) { return 0; }
EXPORT int posix_fallocate(int, off_t, off_t) { return ENOSPC; }
EXPORT int memfd_create(const char*, unsigned) {
  errno = ENOSYS;
  return -1;
}
EXPORT int rename(const char*, const char*) {
  errno = EPERM;
  return -1;
}

int main() {
  say("calls %d, device %d\n", call_often(), use_device());
  say_state("end");
  return 3;
}
