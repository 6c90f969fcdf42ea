#pragma once

#include <string>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// An element of "sources" whose events' times are corrected now, after what earlier merges did to
// them: "corrected" stands for all of that, and is the same where they did the same. By file, and
// not by rank: another file of the rank may have been in another merge.
std::string corrected_source(const std::string& source, const ClockCorrection& correction);

// Of inputs that hold events of one source, and had (or get) its times corrected in two ways, one
// is left out, and told: no event of the one is equal to the other's, and all that they share would
// be there twice. Those with fewer sources, and parts that were chosen, give way.
void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection);

}  // namespace traceagent::trace
