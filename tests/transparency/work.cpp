#include "tests/transparency/work.hpp"

#include <cuda_runtime_api.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace traceagent::transparency {
namespace {

constexpr int watched_errno = 77;
// From then on the simulated GPU has a thread: one that waits for another may find errno changed.
std::atomic<bool> device_is_used{false};

bool is_alone() { return gettid() == getpid() && !device_is_used.load(); }

template <class Call>
int watch_errno(const char* name, const Call& call) {
  errno = watched_errno;
  const int result = static_cast<int>(call());
  if (errno != watched_errno && is_alone()) say("%s: errno is %d\n", name, errno);
  return result;
}

}  // namespace

int call_often(int calls) {
  int sum = watch_errno("cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); });
  int number = 0;
  for (int i = 0; i < calls; ++i) {
    sum += watch_errno("cudaMemsetAsync",
                       [&] { return cudaMemsetAsync(&number, 0, sizeof number, nullptr); });
  }
  return sum;
}

int use_device() {
  device_is_used.store(true);
  constexpr std::size_t bytes = 4096;
  char host[bytes] = {};
  void* memory = nullptr;
  int called = 0;
  const auto host_function = [](void* data) { ++*static_cast<int*>(data); };
  const int results[] = {
      static_cast<int>(cudaMalloc(&memory, bytes)),
      static_cast<int>(cudaMemset(memory, 7, bytes)),
      static_cast<int>(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost)),
      static_cast<int>(cudaLaunchHostFunc(nullptr, host_function, &called)),
      static_cast<int>(cudaDeviceSynchronize()),
      static_cast<int>(cudaFree(memory)),
      host[bytes - 1] == 7 ? 0 : -1,
      called == 1 ? 0 : -2,
  };
  const auto* bad = std::find_if(std::begin(results), std::end(results), [](int r) { return r; });
  return bad == std::end(results) ? 0 : *bad;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void say_environment_of_child() {
  const int code = in_child([] {
    execl("/usr/bin/env", "env", nullptr);
    return 127;
  });
  say("env %d\n", code);
}

}  // namespace traceagent::transparency
