#pragma once

#include "agent/trace/json_object.hpp"

namespace traceagent::process {

struct Agent;

// What only the living process knows of a window's file: how calls came in, and what went before.
trace::JsonObject live_coverage(const Agent& agent);

}  // namespace traceagent::process
