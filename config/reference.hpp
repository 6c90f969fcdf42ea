#pragma once

#include <string>
#include <string_view>

#include "config/options.hpp"

namespace traceagent::config {

// Every option with its environment name, type, default and help: plain text, 100 columns.
std::string options_reference_text();
// The part of it that is of one option.
std::string option_reference_text(const OptionRow& row);
// That of all options of a group, such as "ring"; empty: there is no such group.
std::string group_reference_text(std::string_view group);

// The whole of config/README.md.
std::string options_reference_markdown();

}  // namespace traceagent::config
