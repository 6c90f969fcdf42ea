// Another tool's preload library: counts one call and passes it on with RTLD_NEXT, as tools do.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

extern "C" [[gnu::visibility("default")]] int cudaMalloc(void** memory, std::size_t bytes) {
  using Malloc = int (*)(void**, std::size_t);
  static const auto next = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "cudaMalloc"));
  std::printf("interposed\n");
  return next != nullptr ? next(memory, bytes) : -1;
}
