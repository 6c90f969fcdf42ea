// What dlerror says belongs to the program, over calls and look-ups.
#include <dlfcn.h>

#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();  // a function's own first call looks it up, as the real library's does
  void* handle = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
  dlsym(handle, "cudaNoSuchFunction");
  call_often();
  const char* error = dlerror();
  say("%s\n",
      error != nullptr && std::strstr(error, "cudaNoSuchFunction") != nullptr ? "kept" : "lost");
  say("then %s\n", dlerror() == nullptr ? "none" : "one");
  dlopen("libno-such-library.so", RTLD_NOW);
  call_often();
  error = dlerror();
  say("%s\n", error != nullptr && std::strstr(error, "libno-such") != nullptr ? "kept" : "lost");
  say("%d\n", dlsym(handle, "cudaMalloc") != nullptr && dlerror() == nullptr ? 1 : 0);
  say_state("end");
  return 3;
}
