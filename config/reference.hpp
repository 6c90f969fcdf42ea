#pragma once

#include <string>

namespace traceagent::config {

// Every option with its environment name, type, default and help: plain text, 100 columns.
std::string options_reference_text();

// The whole of config/README.md.
std::string options_reference_markdown();

}  // namespace traceagent::config
