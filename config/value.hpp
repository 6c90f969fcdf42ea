#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/options.hpp"

namespace traceagent::config {

// Sets an option from text; nullopt is YAML's null. Returns what is wrong with it in words, and
// leaves the option as it was then; empty: done.
std::string assign(Options& options, const OptionRow& row, std::optional<std::string_view> text);

// The option's value as one would write it in YAML: true, 64MiB, 5s, null, text without quotes.
std::string show(const Options& options, const OptionRow& row);

}  // namespace traceagent::config
