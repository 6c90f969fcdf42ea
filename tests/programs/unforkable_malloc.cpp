// Preloaded before the agent: a malloc that cares for no fork, as AddressSanitizer's. Its lock,
// held by another thread at a fork, is held in the child for ever. Threads other than the main one
// now and then take long over it, as one does that has lost its processor meanwhile.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void __libc_free(void* memory);
}

namespace {

constinit std::atomic<int> calls{0};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

class Locked {
 public:
  Locked() {
    pthread_mutex_lock(&mutex);
    constexpr int between_losses = 64;
    constexpr useconds_t lost_us = 5000;
    if (syscall(SYS_gettid) != getpid() && calls++ % between_losses == 0) usleep(lost_us);
  }
  ~Locked() { pthread_mutex_unlock(&mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

}  // namespace

extern "C" {
[[gnu::visibility("default")]] void* malloc(std::size_t bytes) {
  const Locked locked;
  return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) {
  const Locked locked;
  return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t bytes) {
  const Locked locked;
  return __libc_realloc(memory, bytes);
}
[[gnu::visibility("default")]] void free(void* memory) {
  const Locked locked;
  __libc_free(memory);
}
}
