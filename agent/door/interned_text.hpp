#pragma once
// Texts that come again and again (NVTX names), stored once in the ring.

#include <cstdint>
#include <string_view>

namespace traceagent::door {

// Offset of `text` in the ring's names; 0 when the names are full.
std::uint32_t intern(std::string_view text) noexcept;
// A new ring: the offsets of the old one mean nothing.
void forget_interned() noexcept;

}  // namespace traceagent::door
