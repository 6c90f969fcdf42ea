// Reaches libcudart in the way that the word names, and prints what it got. Linked to no library of
// CUDA's.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr const char* library = "libcudart.so.13";
constexpr const char* version = "libcudart.so.13";

void* opened(int flags) {
  void* handle = dlopen(library, flags);
  if (handle == nullptr) {
    std::printf("dlopen: %s\n", dlerror());
    std::exit(9);
  }
  return handle;
}

// Three calls with errno watched.
int call_through(void* (*find)(void*, const char*), void* handle) {
  using Malloc = int (*)(void**, std::size_t);
  using Plain = int (*)();
  using Free = int (*)(void*);
  const auto malloc_ = reinterpret_cast<Malloc>(find(handle, "cudaMalloc"));
  const auto synchronize = reinterpret_cast<Plain>(find(handle, "cudaDeviceSynchronize"));
  const auto free_ = reinterpret_cast<Free>(find(handle, "cudaFree"));
  if (malloc_ == nullptr || synchronize == nullptr || free_ == nullptr) {
    std::printf("not found\n");
    return 1;
  }
  void* memory = nullptr;
  std::printf("cudaMalloc %d\n", malloc_(&memory, 64));
  errno = 77;
  std::printf("cudaDeviceSynchronize %d\n", synchronize());
  std::printf("errno %d\n", errno);
  std::printf("cudaFree %d\n", free_(memory));
  return 3;
}

void* find_plain(void* handle, const char* name) { return dlsym(handle, name); }
void* find_versioned(void* handle, const char* name) { return dlvsym(handle, name, version); }

int next_of(int flags) {
  opened(flags);
  return call_through(find_plain, RTLD_NEXT);
}

int not_there() {
  void* handle = opened(RTLD_NOW | RTLD_LOCAL);
  std::printf("%s\n", dlsym(handle, "cudaNoSuchFunction") == nullptr ? dlerror() : "found");
  std::printf("%s\n", dlvsym(handle, "cudaMalloc", "NO_SUCH_1.0") == nullptr ? dlerror() : "found");
  std::printf("%s\n", dlsym(RTLD_NEXT, "no_such_function") == nullptr ? dlerror() : "found");
  std::printf("%d\n", dlerror() == nullptr ? 0 : 1);
  return 3;
}

// Asks whether anybody has them, before anything of CUDA's is loaded.
int nobody() {
  void* program = dlopen(nullptr, RTLD_LAZY);
  for (const char* name : {"cudaMalloc", "ncclAllReduce", "cuLaunchKernel", "cuptiSubscribe"}) {
    for (void* handle : {program, RTLD_DEFAULT, RTLD_NEXT}) {
      const void* found = dlsym(handle, name);
      const char* error = dlerror();
      // Who looked comes first in it: with the agent that is the agent.
      const char* what = error != nullptr ? std::strstr(error, "undefined symbol") : nullptr;
      std::printf("%s: %s\n", found != nullptr ? "found" : "nobody",
                  what != nullptr ? what : "no error");
    }
    std::printf("%s\n", dlvsym(RTLD_DEFAULT, name, version) == nullptr ? "nobody" : "found");
  }
  return opened(RTLD_NOW | RTLD_GLOBAL) != nullptr ? call_through(find_plain, RTLD_DEFAULT) : 1;
}

int old_hash() {
  void* handle = dlopen("libold_hash.so", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return 9;
  std::printf("%s\n", reinterpret_cast<const char* (*)()>(dlsym(handle, "ask_for_own"))());
  return 3;
}

// The same address each time: programs compare function pointers.
int same_address() {
  void* handle = opened(RTLD_NOW | RTLD_LOCAL);
  void* again = opened(RTLD_NOW | RTLD_LOCAL);
  std::printf("%d %d\n", dlsym(handle, "cudaMalloc") == dlsym(again, "cudaMalloc") ? 1 : 0,
              dlsym(handle, "cudaMalloc") == find_versioned(handle, "cudaMalloc") ? 1 : 0);
  return 3;
}

int closed_and_opened() {
  dlclose(opened(RTLD_NOW | RTLD_LOCAL));
  const int first = call_through(find_plain, opened(RTLD_NOW | RTLD_LOCAL));
  return first;
}

struct Case {
  std::string_view word;
  int (*run)();
};
constexpr Case cases[] = {
    {"dlsym", [] { return call_through(find_plain, opened(RTLD_NOW | RTLD_LOCAL)); }},
    {"dlsym_lazy", [] { return call_through(find_plain, opened(RTLD_LAZY | RTLD_LOCAL)); }},
    {"dlvsym", [] { return call_through(find_versioned, opened(RTLD_NOW | RTLD_LOCAL)); }},
    {"default",
     [] {
       opened(RTLD_NOW | RTLD_GLOBAL);
       return call_through(find_plain, RTLD_DEFAULT);
     }},
    {"next", [] { return next_of(RTLD_NOW | RTLD_GLOBAL); }},
    {"deepbind", [] { return call_through(find_plain, opened(RTLD_NOW | RTLD_DEEPBIND)); }},
    {"reopened", closed_and_opened},
    {"not_there", not_there},
    {"nobody", nobody},
    {"old_hash", old_hash},
    {"same_address", same_address},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& known : cases) {
    if (argc > 1 && known.word == argv[1]) {
      return known.run();
    }
  }
  return 2;
}
