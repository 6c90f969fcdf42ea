// An NCCL under a name of its own.
#include <cstring>

struct Id {
  char bytes[128];
};

#pragma GCC visibility push(default)
extern "C" {
int ncclGetUniqueId(Id* id) {
  std::strcpy(id->bytes, "of another NCCL");  // the simulated one's are random
  return 0;
}
int ncclCommDestroy(void* communicator) { return communicator == nullptr ? 40 : 41; }
}
