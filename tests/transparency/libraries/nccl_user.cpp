// Calls NCCL as an extension does that is linked to it; built for two of them.
#include <cstring>

#include "tests/transparency/libraries/user.hpp"

struct Id {
  char bytes[128];
};

#pragma GCC visibility push(default)
extern "C" {
int cudaDeviceSynchronize();
int ncclGetUniqueId(Id*);
int ncclCommDestroy(void*);
}
#pragma GCC visibility pop

int call_library(int times) {
  int result = cudaDeviceSynchronize();
  Id id{};
  for (int i = 0; i < times; ++i) result += ncclGetUniqueId(&id) + ncclCommDestroy(nullptr);
  return result + (std::strcmp(id.bytes, "of another NCCL") == 0 ? 10000 : 0);
}
