#pragma once
// A ring's file that has holes: a dead one whose unused memory went back (unused_memory.hpp), a
// copy (cp --sparse), and what somebody made to have a recovery run out of memory: holes of shared
// memory become real pages when they are looked at. Of the living none has whose records are
// wanted: each is granted whole, and spent_memory.cpp comes after the last.

#include <string>

#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {

// open_ring() for who will read all records. Of a dead owner's file with holes it is a copy that
// has no chunks but those that were claimed, and takes no more memory than the file really has.
OpenedRing open_ring_to_recover(const std::string& path);

}  // namespace traceagent::ring
