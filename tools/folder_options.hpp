#pragma once

#include "tools/trace_files.hpp"

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
}  // namespace CLI

namespace traceagent::tools {

// -r, --recursive
void add_recursive_option(CLI::App& command, FolderOptions& options);

}  // namespace traceagent::tools
