#pragma once

#include "tools/import/file_ranks.hpp"
#include "tools/import/foreign_file.hpp"

namespace traceagent::tools {

// What Composer's merger wrote: it writes one beside the files of its ranks. The last that were
// given go first: of two files of the same events, which a job of one rank has, the first stays.
// `others`: ranks that are not theirs.
void leave_out_composers_merges(ForeignFiles& files, const RankRanges& others);

}  // namespace traceagent::tools
