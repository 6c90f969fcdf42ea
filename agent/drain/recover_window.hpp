#pragma once
// What a dead process had recorded, out of its ring.

#include <cstdint>
#include <vector>

#include "agent/drain/rank_file.hpp"

namespace traceagent::drain {

// Closes the windows that were open (at the last event that is in the ring) and writes every one
// that has no file yet. The startup window counts only while no step has been found (it is open).
// `ring` is a private copy: it is changed. All files together have at most `most_bytes`; one that
// would exceed it is not written, and its report says so.
std::vector<RankFileReport> recover_windows(const ring::Ring& ring, std::uint64_t most_bytes,
                                            IndexQueue* index_queue = nullptr);

// A record of 64 bytes is some 250 to 1,000 in a file, with a long kernel's name as many again. A
// hostile ring could have each name 16 KiB long, and each window hold all of its records.
inline constexpr std::uint64_t most_bytes_per_ring_byte = 64;

}  // namespace traceagent::drain
