#pragma once

#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "config/option_setter.hpp"

namespace traceagent::config {

// The two places options come from. Later calls win.
void set_from_file(OptionSetter& setter, const std::string& path);
void set_from_yaml(OptionSetter& setter, std::string_view path, std::string_view text);
void set_from_environment(OptionSetter& setter, const Environment& environment);

}  // namespace traceagent::config
