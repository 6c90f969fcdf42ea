// cudart opened as the word says: deepbind, or in a namespace of its own (dlmopen).
#include <dlfcn.h>

#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int, char** argv) {
  const bool is_deep = std::strcmp(argv[1], "deepbind") == 0;
  void* handle = is_deep ? dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
                         : dlmopen(LM_ID_NEWLM, "libcudart.so.12", RTLD_NOW);
  if (handle == nullptr) {
    say("%s\n", dlerror());
    return 9;
  }
  const auto synchronize = reinterpret_cast<int (*)()>(dlsym(handle, "cudaDeviceSynchronize"));
  const auto set_device = reinterpret_cast<int (*)(int)>(dlsym(handle, "cudaSetDevice"));
  say("there %d %d, here %d\n", synchronize(), set_device(1000), call_often());
  say_state("end");
  return 3;
}
