#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace traceagent::tools {

// From the name of a trace that others wrote: one that says "rank3", "rank-3", "worker3", "r3", or
// ends in "_3.json". Not the last where it counts something else ("step_3.json", "2026-11-3.json"),
// or where the file lies in a folder that says "rank3": there it tells the files of one rank apart.
// "local_rank3" says so much where there is nothing better, but of a folder never: each node has
// one.
std::optional<std::int64_t> rank_in_name(std::string_view path);

}  // namespace traceagent::tools
