#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// What earlier merges and this one have done to the times of a source of the input, for its
// "corrected": the same where they did the same; empty: nothing. By file, and not by rank: another
// file of the rank may have been in another merge.
std::string correction_mark(const MergeInput& input, const std::string& source);

// Of all that was done in a file; empty: nothing. An earlier version, which has marked the sources
// that it moved alone, or none, said no more. `distributed_info` may be large: once for each input.
std::string earlier_mark_of(const TraceHeader& header);

// An element of "sources" with its mark. Where any source of a file has one all have, be it empty:
// without it nobody knows, which is so in files of earlier versions.
std::string marked_source(const std::string& source, const std::string& mark);

// The mark of a source in a file that another program has saved again, by its content: its events
// are there, and none is equal to the letter to what others hold of it.
inline constexpr std::string_view saved_mark = "saved-";

// Whether earlier merges have done anything to the times of the sources that are chosen of it.
bool was_corrected(const MergeInput& input, const Selection* selection);

// Of inputs that hold events of one source, and had (or get) its times corrected in two ways, one
// is left out, and told: no event of the one is equal to the other's, and all that they share would
// be there twice. Those with fewer sources, and parts that were chosen, give way.
void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection);

}  // namespace traceagent::trace
