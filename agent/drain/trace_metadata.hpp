#pragma once
// What a rank file says about itself.

#include <cstdint>
#include <vector>

#include "agent/drain/coverage.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

std::vector<trace::ProcessGroup> process_groups(const ring::Ring& ring);

// process_name and the like: only metadata events that Chrome's viewer knows.
void write_process_metadata(trace::EventWriter& writer, const ring::Ring& ring);

// The value of "traceagent": identity, options, schedule's cycle, doors, drops, cost, clock.
trace::JsonObject rank_metadata(const ring::Ring& ring, const ring::Window& window,
                                std::uint64_t events, const RankFileOptions& options,
                                const WindowCoverage& coverage);

}  // namespace traceagent::drain
