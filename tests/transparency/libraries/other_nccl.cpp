// An NCCL under a name of its own.
struct Id {
  char bytes[128];
};

#pragma GCC visibility push(default)
extern "C" {
int ncclGetUniqueId(Id* id) {
  id->bytes[0] = 'w';
  return 0;
}
int ncclCommDestroy(void* communicator) { return communicator == nullptr ? 40 : 41; }
}
