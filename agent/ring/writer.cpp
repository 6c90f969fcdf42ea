#include "agent/ring/writer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/ring/overwriting.hpp"

namespace traceagent::ring {

constinit Target target;
constinit thread_local Writer writer{};

namespace {

pthread_key_t exit_key;
std::atomic<bool> exit_key_made{false};

// Before it is retired: from then on it may be another thread's, and a signal handler that records
// must not find it here.
Chunk* leave_chunk(Writer& self) noexcept {
  Chunk* chunk = self.chunk;
  self.chunk = nullptr;
  self.next = self.end = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return chunk;
}

void give_back_chunk(void*) noexcept {
  Writer& self = writer;
  // As in claim(): a handler that records meanwhile would leave the chunk too, or take one that
  // nobody gives back.
  self.filling = end_of_stack();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self.gives_back_at_exit = false;
  Chunk* chunk = leave_chunk(self);
  // A generation that differs is the parent's ring, seen in a forked child: not ours to touch.
  if (chunk != nullptr && self.generation == target.generation.load(std::memory_order_relaxed)) {
    retire_chunk(*chunk);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  self.filling = 0;
}

// Again after the destructor ran: what other destructors record then needs it once more.
void give_back_at_exit(Writer& self) noexcept {
  if (!exit_key_made.load(std::memory_order_acquire)) return;
  const int saved_errno = errno;
  self.gives_back_at_exit = pthread_setspecific(exit_key, &self) == 0;
  errno = saved_errno;
}

void adopt(Writer& self, Chunk& chunk) noexcept {
  self.chunk = &chunk;
  self.next = chunk.records;
  self.end = chunk.records + records_per_chunk;
  // Not for each chunk: where the caches are cold a call into the C library takes long.
  if (!self.gives_back_at_exit) give_back_at_exit(self);
}

}  // namespace

void prepare_thread_exit() noexcept {
  if (exit_key_made.load(std::memory_order_relaxed)) return;
  if (pthread_key_create(&exit_key, give_back_chunk) == 0) {
    exit_key_made.store(true, std::memory_order_release);
  }
}

namespace {

// Where the kernel refuses to tell: as if it were, and the handler is refused.
bool is_on_alternate_stack() noexcept {
  const int saved_errno = errno;
  stack_t stack{};
  const bool is_on_it = sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
  errno = saved_errno;
  return is_on_it;
}

// Whether who claims at `claiming` has been left by siglongjmp, as is seen at `frame`: the stack
// has shrunk past it, and it is the same stack. (Rejected: to believe it after so many refusals. A
// handler may make as many calls, and then both would have one slot, or run past a chunk's end.)
// Not known: a handler that changes stacks, by itself or by SS_AUTODISARM, to one that lies close
// above.
bool has_been_left(std::uintptr_t claiming, std::uintptr_t frame) noexcept {
  constexpr std::uintptr_t most_apart_bytes = 64 * 1024;  // else perhaps another fibre's
  return frame >= claiming && frame - claiming < most_apart_bytes && !is_on_alternate_stack();
}

}  // namespace

event::Record* claim_in_handler(Writer& self, std::uintptr_t frame) noexcept {
  // 0: a handler has seen since that it was left.
  if (self.filling == 0 || has_been_left(self.filling, frame)) {
    self.filling = 0;
    return claim(self);
  }
  if (target.ring.valid()) target.ring.count_drop(self.full_cause);
  return nullptr;
}

namespace {

// Two system calls take 7 us where the caches are cold: made for each chunk, they were the longest
// calls of a recording job. A thread that gets another name later has it one chunk in sixteen
// later: one call in 16,368, which leaves the 99.99th percentile of calls alone.
void look_at_thread(Writer& self) noexcept {
  constexpr std::uint32_t chunks_of_a_name = 16;
  if (self.chunks++ % chunks_of_a_name != 0) return;
  const int saved_errno = errno;
  self.thread_id = static_cast<std::uint32_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, self.thread_name);
  errno = saved_errno;
}

event::Record* first_in_new_chunk(Writer& self) noexcept {
  const std::uint32_t generation = target.generation.load(std::memory_order_acquire);
  if (self.generation != generation) {
    self.chunk = nullptr;
    self.generation = generation;
    self.chunks = 0;
  }
  if (Chunk* full = leave_chunk(self)) retire_chunk(*full);

  const Ring& ring = target.ring;
  if (!ring.valid()) return nullptr;
  // A full ring must cost a load for each event, not two system calls.
  if (!target.overwrite.load(std::memory_order_relaxed) &&
      ring.header().free_chunks.load(std::memory_order_relaxed) == 0) {
    ring.count_drop(self.full_cause);
    return nullptr;
  }
  look_at_thread(self);
  Chunk* chunk = claim_or_overwrite(ring, self.thread_id, self.thread_name);
  if (chunk == nullptr) {
    ring.count_drop(self.full_cause);
    return nullptr;
  }
  adopt(self, *chunk);
  return self.next++;
}

}  // namespace

event::Record* next_in_new_chunk(Writer& self) noexcept {
  event::Record* record = first_in_new_chunk(self);
  if (record == nullptr) self.filling = 0;
  return record;
}

}  // namespace traceagent::ring
