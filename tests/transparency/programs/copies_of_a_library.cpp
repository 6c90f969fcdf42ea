// Extensions that are opened for themselves (RTLD_LOCAL), some with a copy of libcudart or NCCL
// that others have too: what each calls is its own.
//
//   copies_of_a_library EXTENSION|global:LIBRARY...
//
// Each is opened and called, or a library opened for all; then all are called again, and closed.
#include <dlfcn.h>

#include <string_view>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main(int count, char** words) {
  std::vector<void*> handles;
  std::vector<int (*)(int)> calls;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    constexpr std::string_view for_all = "global:";
    if (word.starts_with(for_all)) {
      say("global: %d\n", dlopen(words[i] + for_all.size(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
      continue;
    }
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
