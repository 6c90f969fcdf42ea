// Another tool's preload library: counts one call and passes it on with RTLD_NEXT, as tools do.
// With INTERPOSER_STOPS set the process stops at its first such call, until it gets a SIGCONT.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" [[gnu::visibility("default")]] int cudaMalloc(void** memory, std::size_t bytes) {
  using Malloc = int (*)(void**, std::size_t);
  static const auto next = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "cudaMalloc"));
  std::printf("interposed\n");
  static const bool stops = std::getenv("INTERPOSER_STOPS") != nullptr && std::raise(SIGSTOP) == 0;
  static_cast<void>(stops);
  return next != nullptr ? next(memory, bytes) : -1;
}
