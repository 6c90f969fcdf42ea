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
  for (int i = 0; i < times; ++i) {
    Id id{};
    result += ncclGetUniqueId(&id) + ncclCommDestroy(nullptr);
    if (std::strcmp(id.bytes, "of another NCCL") == 0) result += 1000000;
  }
  return result + 100 * ncclBcast(nullptr, 0, 0, 0, nullptr, nullptr);
}
