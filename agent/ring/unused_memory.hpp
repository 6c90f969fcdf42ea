#pragma once
// A ring is granted whole, and a process that is killed leaves it whole: what no event or name ever
// came to, or what was written and cleared again, waits with the rest for `traceagent recover`.

#include <cstdint>
#include <string>

namespace traceagent::ring {

// Gives that memory back to the system: chunks that nobody had claimed, and what is left of the
// area of names. A recovery writes the same from the ring as before, and its file is no younger.
// Nothing of one whose owner may live (in another pid namespace nobody knows), that cannot be read,
// or that has holes already. Returns the bytes that the file takes then.
std::uint64_t give_back_unused(const std::string& ring_path);

}  // namespace traceagent::ring
