// Another tool's preload library, which finds the functions that it stands before in the libraries
// themselves, not by RTLD_NEXT, and all of a library at once: when it is loaded, or with
// INTERPOSER_IS_LAZY at the first call.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

template <class Function>
Function* in(const char* library, const char* symbol) {
  void* const handle = dlopen(library, RTLD_NOW);
  return handle != nullptr ? reinterpret_cast<Function*>(dlsym(handle, symbol)) : nullptr;
}

struct Runtime {
  int (*malloc)(void**, std::size_t) = in<int(void**, std::size_t)>("libcudart.so.13",
                                                                    "cudaMalloc");
  int (*free)(void*) = in<int(void*)>("libcudart.so.13", "cudaFree");
};

struct Driver {
  int (*init)(unsigned) = in<int(unsigned)>("libcuda.so.1", "cuInit");
  int (*allocate)(void*, std::size_t) = in<int(void*, std::size_t)>("libcuda.so.1",
                                                                    "cuMemAlloc_v2");
};

const Runtime& runtime() {
  static const Runtime found;
  return found;
}

const Driver& driver() {
  static const Driver found;
  return found;
}

[[gnu::constructor]] void find_all() {
  if (std::getenv("INTERPOSER_IS_LAZY") != nullptr) return;
  runtime();
  driver();
}

}  // namespace

#define INTERPOSED(name) extern "C" [[gnu::visibility("default")]] int name

INTERPOSED(cudaMalloc)(void** memory, std::size_t bytes) {
  std::printf("interposed\n");
  return runtime().malloc(memory, bytes);
}
INTERPOSED(cudaFree)(void* memory) {
  std::printf("interposed\n");
  return runtime().free(memory);
}
INTERPOSED(cuInit)(unsigned flags) {
  std::printf("interposed\n");
  return driver().init(flags);
}
INTERPOSED(cuMemAlloc_v2)(void* memory, std::size_t bytes) {
  std::printf("interposed\n");
  return driver().allocate(memory, bytes);
}
