// A plugin with a cuInit of its own that opens the driver's library, as generated import stubs do:
// what stands before it by that name has to find it, though it is in nobody's sight.
#include <dlfcn.h>

extern "C" {
[[gnu::visibility("default")]] int cuInit(unsigned flags) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto real =
      driver != nullptr ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
  return real != nullptr ? real(flags) : -1;
}

[[gnu::visibility("default")]] int initialise() { return cuInit(0); }
}
