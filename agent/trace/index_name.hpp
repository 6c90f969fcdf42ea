#pragma once
// Which file of the folder `index` is a run's, for its ranks and for its uploader.

#include <string>
#include <string_view>

namespace traceagent::trace {

// The first line: what is alike in all processes of the run, and nothing else.
std::string index_head(std::string_view run_key);

// Of the stem "index" or "index-node3". Of two runs that both found the folder empty, the later has
// its key in the name, unless it may replace the other's.
std::string index_path(const std::string& output_folder, const std::string& stem,
                       std::string_view run_key, bool may_replace);

}  // namespace traceagent::trace
