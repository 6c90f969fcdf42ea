#pragma once

#include <string>
#include <string_view>

#include "config/options.hpp"

namespace traceagent::config {

// Null when there is no such option.
const OptionRow* find_option(std::string_view key);
const OptionRow* find_option_of_variable(std::string_view variable);

// "output" for "output.folder"; empty for a key without a dot.
std::string_view group_of(std::string_view key);

bool is_group(std::string_view name);

bool is_nullable(const OptionRow& row);
// A name or a target that may be null.
bool is_nullable_text(const OptionRow& row);

// For messages about a key that does not exist: "the nearest is output.filename".
std::string nearest_key_in_words(std::string_view key);

// The variables the environment may hold: those of the options, and a few of their own.
inline constexpr std::string_view config_variable = "TRACEAGENT_CONFIG";
inline constexpr std::string_view schedule_variable = "TRACEAGENT_SCHEDULE";
// For the tools: where the library and the launcher are. Nothing to the agent, but no mistake.
inline constexpr std::string_view library_variable = "TRACEAGENT_LIBRARY";
inline constexpr std::string_view mpirun_variable = "TRACEAGENT_MPIRUN";

// True for names that begin with TRACEAGENT_ and mean nothing to us. TRACEAGENT_INTERNAL_ is for
// what our own processes tell each other.
bool is_unknown_variable(std::string_view name);
std::string nearest_variable_in_words(std::string_view name);

}  // namespace traceagent::config
