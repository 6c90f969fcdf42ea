#pragma once
// Texts that come again and again (names of NVTX ranges and of kernels), stored once in the ring.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace traceagent::door {

// What is longer is cut, and never longer than what add_name() keeps: a text that is stored cut
// would never be found again.
constexpr std::size_t longest_interned_text = 4000;

// 0: it is not there, or has made room for others.
std::uint32_t find_interned(std::string_view text) noexcept;
// Offset of `text` in the ring's names; 0 when the names are full, counted.
std::uint32_t intern(std::string_view text) noexcept;
// The same for the text of a range or a mark. A job may make up a new one for each: they have a
// share of the names, and leave the rest to kernels. Counted as names_full where a window is open:
// what no file has lacks no name.
std::uint32_t intern_of_range(std::string_view text) noexcept;
// A new ring: the offsets of the old one mean nothing.
void forget_interned() noexcept;

}  // namespace traceagent::door
