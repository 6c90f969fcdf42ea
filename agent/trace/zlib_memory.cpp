#include "agent/trace/zlib_memory.hpp"

#include <cstddef>

#include "agent/event/held_memory.hpp"

namespace traceagent::trace {
namespace {

// Products of zlib's own: some hundred thousand at most.
voidpf allocate(voidpf, uInt count, uInt bytes) {
  return event::held_malloc(std::size_t{count} * bytes);
}

void release(voidpf, voidpf memory) { event::held_free(memory); }

}  // namespace

void use_held_memory(z_stream& stream) noexcept {
  stream.zalloc = allocate;
  stream.zfree = release;
}

}  // namespace traceagent::trace
