#pragma once
// Events of NCCL's profiler interface as records of the ring.

#include <atomic>
#include <cstdint>

#include "agent/door/nccl_plugin_event.hpp"

namespace traceagent::door::nccl_plugin {

// What NCCL keeps as our context: a communicator.
struct Communicator {
  std::atomic<bool> used;
  std::uint64_t id;                 // equal on all its ranks; 0: not told yet (versions before 4)
  int size, rank;                   // size 0: not told
  std::atomic<std::uint32_t> slot;  // in the table of the ring, plus 1
  std::atomic<std::uint32_t> generation;  // of the ring that `slot` is of
  void* users_context;                    // of the user's own plugin
  bool users_failed;                      // theirs refused: it is not called for this one
};

// nullptr: more than we follow.
Communicator* add_plugin_communicator(std::uint64_t id, int size, int rank) noexcept;
void remove_plugin_communicator(Communicator* communicator) noexcept;

// The handle of the event, or nullptr where it is not wanted. `communicator` may be null.
void* begin_event(Communicator* communicator, const Event& event, const void* parent) noexcept;
void end_event(const void* handle) noexcept;
// `value`: what came with the state, of a kernel channel the GPU's clock, of a step its bytes.
void note_state(const void* handle, int state, std::uint64_t value) noexcept;

}  // namespace traceagent::door::nccl_plugin
