// Another tool's preload library that wraps dlsym, as those that share out GPUs do: it answers for
// one name itself.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace {

int counted_free(void*) {
  std::printf("the tool's cudaFree\n");
  return 0;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void* dlsym(void* handle, const char* name) noexcept {
  using Dlsym = void* (*)(void*, const char*);
  static const auto next = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (std::strcmp(name, "cudaFree") == 0) return reinterpret_cast<void*>(&counted_free);
  return next(handle, name);
}
