// Has functions of NCCL and libcudart itself, for all to find, and asks the loader for them: by
// whoever has them, by the next one's, and by the program's own handle.
#include <dlfcn.h>

#include <initializer_list>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

extern "C" {
[[gnu::visibility("default")]] int ncclGetUniqueId(void*) { return 71; }
[[gnu::visibility("default")]] int cudaMemset(void*, int, std::size_t) { return 72; }
}

int main() {
  for (const char* name : {"ncclGetUniqueId", "cudaMemset", "cudaMemsetNot"}) {
    void* const of_anybody = dlsym(RTLD_DEFAULT, name);
    void* const of_program = dlsym(dlopen(nullptr, RTLD_LAZY), name);
    using Function = int (*)(void*, int, std::size_t);
    const auto result = [](void* function) {
      return function != nullptr ? reinterpret_cast<Function>(function)(nullptr, 0, 0) : -1;
    };
    say("%s: %d, %d\n", name, result(of_anybody), result(of_program));
  }
  say("others: %d\n", call_often());
  say_state("end");
  return 3;
}
