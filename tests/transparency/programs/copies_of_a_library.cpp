// Extensions that are opened for themselves (RTLD_LOCAL), some with a copy of libcudart or NCCL
// that others have too: what each calls is its own.
//
//   copies_of_a_library EXTENSION...
//
// Each is opened and called; then all are called again, and closed.
#include <dlfcn.h>

#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int count, char** words) {
  std::vector<void*> handles;
  std::vector<int (*)(int)> calls;
  for (int i = 1; i < count; ++i) {
    void* extension = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
    if (extension == nullptr) {
      say("%s\n", dlerror());
      return 9;
    }
    handles.push_back(extension);
    calls.push_back(reinterpret_cast<int (*)(int)>(dlsym(extension, "call_library")));
    say("opened %d: %d\n", i, calls.back()(3));
  }
  for (const auto call : calls) say("again: %d\n", call(2));
  say_state("end");
  for (void* handle : handles) dlclose(handle);
  return 3;
}
