// Calls NCCL as an extension does that is linked to it; built for two of them.
#include <cstddef>
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
int ncclBcast(void*, std::size_t, int, int, void*, void*);
}
#pragma GCC visibility pop

int call_library(int times) {
  int result = cudaDeviceSynchronize();
  Id id{};
  for (int i = 0; i < times; ++i) result += ncclGetUniqueId(&id) + ncclCommDestroy(nullptr);
  result += 100 * ncclBcast(nullptr, 0, 0, 0, nullptr, nullptr);
  return result + (std::strcmp(id.bytes, "of another NCCL") == 0 ? 1000000 : 0);
}
