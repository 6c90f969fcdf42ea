#pragma once

#include <CLI/CLI.hpp>

#include "tools/clocks/align_clocks.hpp"

namespace traceagent::tools {

void add_align_options(CLI::App& app, AlignOptions& options);

}  // namespace traceagent::tools
