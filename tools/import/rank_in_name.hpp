#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace traceagent::tools {

// From the name of a trace that others wrote: one that says "rank3", "rank-3", "worker3" or "r3",
// as words of their own ("coworker3" is none). Where it says nothing the folder may: "rank3".
// "local_rank3" says so much where there is nothing better, but of a folder never: each node has
// one. The host in a name that PyTorch gave (pytorch_name.hpp) says nothing: it may be "r3".
std::optional<std::int64_t> rank_said_in_name(std::string_view path);

// Else of one that ends in "_3.json": not where it counts something else ("step_3.json",
// "2026-11-3.json"), or where the folder says whose it is: there it tells the files of one rank
// apart.
std::optional<std::int64_t> rank_in_name(std::string_view path);

}  // namespace traceagent::tools
