// Calls NCCL as an extension does that is linked to it. With NCCL_WITHIN it has NCCL itself, as
// libtorch may.
#include "tests/transparency/libraries/user.hpp"

struct Id {
  char bytes[128];
};

#pragma GCC visibility push(default)
extern "C" {
int cudaDeviceSynchronize();
#ifdef NCCL_WITHIN
int ncclGetUniqueId(Id* id) {
  id->bytes[0] = 'w';
  return 0;
}
int ncclCommDestroy(void* communicator) { return communicator == nullptr ? 40 : 41; }
#else
int ncclGetUniqueId(Id*);
int ncclCommDestroy(void*);
#endif
}
#pragma GCC visibility pop

int call_library(int times) {
  int result = cudaDeviceSynchronize();
  Id id{};
  for (int i = 0; i < times; ++i) result += ncclGetUniqueId(&id) + ncclCommDestroy(nullptr);
  return result + (id.bytes[0] == 'w' ? 10000 : 0);
}
