// Extensions that are opened for themselves (RTLD_LOCAL), some with a copy of libcudart or NCCL
// that others have too: what each calls is its own.
//
//   copies_of_a_library ["guarded"] EXTENSION...
//
// Each is opened and called; then all are called again, and those with kernels unload them.
// With "guarded", memory that the loader has made read-only stays so.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
bool is_guarded = false;
}

extern "C" [[gnu::visibility("default")]] int mprotect(void* address, std::size_t bytes,
                                                       int protection) noexcept {
  if (is_guarded) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(syscall(SYS_mprotect, address, bytes, protection));
}

int main(int count, char** words) {
  is_guarded = count > 1 && std::strcmp(words[1], "guarded") == 0;
  std::vector<void*> handles;
  std::vector<int (*)(int)> calls;
  for (int i = is_guarded ? 2 : 1; i < count; ++i) {
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
