#pragma once

#include <cstdint>

#include "tests/sim/engine/work.hpp"

/// The life of one piece of work on a stream: what it waits for, its lines in the truth, its end.
/// All under the timeline's lock.
namespace simgpu {

struct Stream;

bool runs_as_kernel(const Work& work);

/// nullptr is no predecessor.
void add_predecessor(Operation& operation, const Predecessor& before);
/// Resolved predecessors give their end; true when none is left open.
bool predecessors_settled(Operation& operation);

/// Opens the work's lines in the truth.
void claim_records(Operation& operation, const Work& work, const Stream& stream,
                   std::uint64_t call_number, std::uint32_t graph);
/// Whether all ranks have come to what meets; then the end is known.
bool everyone_met(Operation& operation);
/// Start and end are known: tells whoever waits and closes the lines.
void resolve(Operation& operation);

}  // namespace simgpu
