#include "agent/ring/writer.hpp"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace traceagent::ring {

constinit Target target;
constinit thread_local Writer writer{};

namespace {

pthread_key_t exit_key;
std::atomic<bool> exit_key_made{false};

void give_back_chunk(void*) noexcept {
  Writer& self = writer;
  // A generation that differs is the parent's ring, seen in a forked child: not ours to touch.
  if (self.chunk != nullptr &&
      self.generation == target.generation.load(std::memory_order_relaxed)) {
    retire_chunk(*self.chunk);
  }
  self.chunk = nullptr;
  self.next = self.end = nullptr;
}

void adopt(Writer& self, Chunk& chunk) noexcept {
  self.chunk = &chunk;
  self.next = chunk.records;
  self.end = chunk.records + records_per_chunk;
  // Per claim, not per thread: a destructor that ran already runs again only if the value is set.
  if (exit_key_made.load(std::memory_order_acquire)) pthread_setspecific(exit_key, &self);
}

}  // namespace

void prepare_thread_exit() noexcept {
  if (exit_key_made.load(std::memory_order_relaxed)) return;
  if (pthread_key_create(&exit_key, give_back_chunk) == 0) {
    exit_key_made.store(true, std::memory_order_release);
  }
}

event::Record* next_in_new_chunk(Writer& self) noexcept {
  const int saved_errno = errno;
  const std::uint32_t generation = target.generation.load(std::memory_order_acquire);
  if (self.generation != generation) {
    self.chunk = nullptr;
    self.generation = generation;
  }
  if (self.chunk != nullptr) retire_chunk(*self.chunk);
  self.chunk = nullptr;
  self.next = self.end = nullptr;

  const Ring& ring = target.ring;
  if (!ring.valid()) return nullptr;
  const bool overwrite = target.overwrite.load(std::memory_order_relaxed);
  // A full ring must cost a load for each event, not two system calls.
  if (!overwrite && ring.header().free_chunks.load(std::memory_order_relaxed) == 0) {
    ring.count_drop(self.full_cause);
    return nullptr;
  }
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  const auto thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  Chunk* chunk = claim_chunk(ring, thread_id, name, overwrite);
  if (chunk != nullptr) adopt(self, *chunk);
  errno = saved_errno;
  if (chunk == nullptr) {
    ring.count_drop(self.full_cause);
    return nullptr;
  }
  return self.next++;
}

}  // namespace traceagent::ring
