// A user's own tool, as CUDA_INJECTION64_PATH names it: says that it was called.
#include <cstdio>

extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  std::printf("the user's own tool\n");
  return 1;
}
