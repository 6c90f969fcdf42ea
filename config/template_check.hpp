#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"

namespace traceagent::config {

// What is probably a mistake in a name template: variables that do not exist, or that this kind of
// name does not know, and would stay in the name with their braces; those that are 0 with these
// options; a file's name that begins as if it lay elsewhere than in output.folder, or does not end
// as a trace's; a remote in which runs would replace each other's files; in these and in plain
// texts a "~" or a "$NAME", as only a shell reads them. Empty for other types.
std::vector<std::string> doubts_about(OptionType type, std::string_view name_template,
                                      const Options& options);

}  // namespace traceagent::config
