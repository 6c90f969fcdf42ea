#pragma once
// malloc and the like as threads of ours call them (fork_hold.hpp). In line, so that each caller's
// call is a place of its own where tests let calls fail.

#include <cstddef>
#include <cstdlib>

#include "agent/event/fork_hold.hpp"

namespace traceagent::event {

[[gnu::always_inline]] inline void* held_malloc(std::size_t bytes) noexcept {
  const ForkHold hold;
  return std::malloc(bytes);
}

[[gnu::always_inline]] inline void* held_calloc(std::size_t count, std::size_t bytes) noexcept {
  const ForkHold hold;
  return std::calloc(count, bytes);
}

[[gnu::always_inline]] inline void* held_realloc(void* memory, std::size_t bytes) noexcept {
  const ForkHold hold;
  return std::realloc(memory, bytes);
}

inline void held_free(void* memory) noexcept {
  const ForkHold hold;
  std::free(memory);
}

struct HeldFree {
  void operator()(void* memory) const noexcept { held_free(memory); }
};

}  // namespace traceagent::event
