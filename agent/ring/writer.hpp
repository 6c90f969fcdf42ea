#pragma once
// The recording side of the ring: one Writer per thread, in initial-exec TLS.

#include <atomic>
#include <cstdint>

#include "agent/event/ticks.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::ring {

// The ring that this process records into. Set once per process life (again in a forked child).
struct Target {
  Ring ring;
  std::atomic<bool> overwrite{false};
  std::atomic<std::uint32_t> generation{0};  // rises when the ring is replaced: after fork
};
[[gnu::visibility("hidden")]] extern constinit Target target;

// Trivially destructible and constant-initialised: TLS of a preloaded library must need neither
// malloc nor a guard. A claimed chunk is given back by the pthread key's destructor.
struct Writer {
  event::Record* next;
  event::Record* end;
  Chunk* chunk;
  std::uint32_t generation;
  std::uint32_t nested_in_start;  // the agent's own work on this thread: never recorded
  std::uintptr_t nccl_frame;      // stack address of the outermost NCCL wrapper, 0: none
  std::uint32_t nccl_group_depth;
  std::uintptr_t cuda_frame;  // the same of the outermost wrapper of libcudart or libcuda
  DropCause full_cause;       // how a record is counted that finds no chunk; ring_full for calls
  std::uintptr_t filling;     // from before a slot is claimed until its record is published: the
                              // stack's address of who does it; else 0
  std::uint32_t thread_id;    // the kernel's, as of the first chunk of this generation
  std::uint32_t chunks;       // taken in this generation
  bool gives_back_at_exit;    // the destructor of the pthread key is to run
  ThreadName thread_name;
};
[[gnu::visibility("hidden")]] extern constinit thread_local Writer writer
    __attribute__((tls_model("initial-exec")));

// Takes another chunk for this thread. nullptr: dropped, and counted.
event::Record* next_in_new_chunk(Writer& self) noexcept;

// A claim at `frame` within another's: a signal handler records. nullptr: dropped, and counted.
event::Record* claim_in_handler(Writer& self, std::uintptr_t frame) noexcept;

// Where the stack of the caller, or of what that is in line in, ends.
[[gnu::always_inline]] inline std::uintptr_t end_of_stack() noexcept {
#if defined(__x86_64__)
  std::uintptr_t end = 0;
  __asm__ volatile("mov %%rsp, %0" : "=r"(end));
  return end;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

// A slot in this thread's chunk, or nullptr. The caller fills it and then publishes: it must not
// leave it at that, nor publish from far above this claim's frame (a signal's frame is some 2 KiB).
[[gnu::always_inline]] inline event::Record* claim(Writer& self) noexcept {
  // Between two instructions here a handler that records would be given the very same slot, or
  // take the chunk's end from under us (tests/model).
  if (self.filling != 0) [[unlikely]] {
    return claim_in_handler(self, end_of_stack());
  }
  self.filling = end_of_stack();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  event::Record* record = self.next;
  if (record == self.end || self.generation != target.generation.load(std::memory_order_relaxed))
      [[unlikely]] {
    return next_in_new_chunk(self);
  }
  self.next = record + 1;
  return record;
}

// What this thread claimed. Release: a reader that sees begin_ticks sees all the other fields.
inline void publish(event::Record& record, std::uint64_t begin_ticks) noexcept {
  record.begin_ticks.store(begin_ticks, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  writer.filling = 0;
}

// Makes the pthread key whose destructor retires a thread's chunk. Called once per process.
void prepare_thread_exit() noexcept;

}  // namespace traceagent::ring
