#pragma once

#include <string>
#include <vector>

#include "agent/trace/merge.hpp"
#include "tools/clocks/align_clocks.hpp"

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
}  // namespace CLI

namespace traceagent::tools {

void add_align_options(CLI::App& app, AlignOptions& options);

// What a merge of these files is to do about their clocks; prints what people want to know of it.
// False: refused, and said.
bool put_clocks_together(const std::vector<std::string>& paths, const AlignOptions& align,
                         trace::MergeOptions& merge, ProgressBar& bar);

}  // namespace traceagent::tools
