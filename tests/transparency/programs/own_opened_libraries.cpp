// Opens zlib and libunwind for all (RTLD_GLOBAL), after the agent and the first calls.
#include <dlfcn.h>

#include "tests/transparency/libraries/own_work.hpp"
#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int argc, char** argv) {
  say("calls %d\n", call_often());
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : nullptr;
  if (library == nullptr) return say("%s\n", argc > 1 ? dlerror() : "which library?"), 77;
  const auto work = reinterpret_cast<decltype(&work_with_own_libraries)>(
      dlsym(library, "work_with_own_libraries"));
  work(&call_often);
  say("closed %d, calls %d, device %d\n", dlclose(library), call_often(), use_device());
  say_state("end");
  return 3;
}
