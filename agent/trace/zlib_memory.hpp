#pragma once

#include <zlib.h>

namespace traceagent::trace {

// Before inflateInit or deflateInit: the stream's memory is asked for as ours is
// (event/held_memory.hpp). zlib sets all that it reads of it: not cleared, as with its own malloc.
void use_held_memory(z_stream& stream) noexcept;

}  // namespace traceagent::trace
