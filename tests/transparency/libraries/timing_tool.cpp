// Preloaded before the agent: has all of NCCL that nccl_user.cpp calls, and goes on to the next
// one's from a function of its own, to time each call.
#include <dlfcn.h>

#include <cstddef>
#include <ctime>

namespace {

struct Id {
  char bytes[128];
};

template <class Function>
Function next(const char* name) {
#ifdef STUB
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
  void* found = library != nullptr ? dlsym(RTLD_DEFAULT, name) : nullptr;
#else
  void* found = dlsym(RTLD_NEXT, name);
#endif
  if (found == nullptr) found = dlsym(dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL), name);
  return reinterpret_cast<Function>(found);
}

[[gnu::noinline]] double now_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double spent_s = 0;

template <class Call>
[[gnu::noinline]] int timed(const Call& call) {
  const double begin_s = now_s();
  const int result = call();
  spent_s += now_s() - begin_s;
  return result;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int ncclGetUniqueId(Id* id) {
  static const auto real = next<int (*)(Id*)>("ncclGetUniqueId");
  return timed([&] { return real(id); });
}

[[gnu::visibility("default")]] int ncclCommDestroy(void* communicator) {
  static const auto real = next<int (*)(void*)>("ncclCommDestroy");
  return timed([&] { return real(communicator); });
}

[[gnu::visibility("default")]] int ncclBcast(void* buffer, std::size_t count, int type, int root,
                                             void* comm, void* stream) {
  static const auto real = next<int (*)(void*, std::size_t, int, int, void*, void*)>("ncclBcast");
  return timed([&] { return real(buffer, count, type, root, comm, stream); });
}

#ifndef STUB
// Never called: so that the loader ties the library to itself by these names.
[[gnu::visibility("default")]] int ncclCommInitAll(void* communicators, int, const int*) {
  Id id{};
  return ncclGetUniqueId(&id) + ncclCommDestroy(communicators) +
         ncclBcast(nullptr, 0, 0, 0, communicators, nullptr);
}
#endif
}
