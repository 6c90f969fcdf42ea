// An NCCL under a name of its own.
#include <cstddef>
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
// As NCCL's: it calls itself by the name that others may stand before.
int ncclBroadcast(const void*, void*, std::size_t, int, int, void*, void*) { return 50; }
int ncclBcast(void* buffer, std::size_t count, int type, int root, void* comm, void* stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
int ncclCommDestroy(void* communicator) { return communicator == nullptr ? 40 : 41; }
}
