#pragma once

#include <string_view>

#include "config/options.hpp"

namespace traceagent::config {

// Whether two cycles of a rank may have the same name, with what these options count: {epoch} needs
// step.per_epoch, {sample} step.samples, and what is counted in an epoch comes again in the next.
bool cycles_share_name(std::string_view name_template, const Options& options);

}  // namespace traceagent::config
