#pragma once
// What a dead process had recorded, out of its ring.

#include <vector>

#include "agent/drain/rank_file.hpp"

namespace traceagent::drain {

// Closes the windows that were open (at the last event that is in the ring) and writes every one
// that has no file yet. The startup window counts only while no step has been found (it is open).
// `ring` is a private copy: it is changed.
std::vector<RankFileReport> recover_windows(const ring::Ring& ring);

}  // namespace traceagent::drain
