#pragma once
// Traces that the job's other profilers have left beside ours (merge.include).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"

namespace traceagent::process {

struct Agent;

// What a node's file holds.
struct NodeTotals {
  std::uint64_t ranks = 0;
  std::uint64_t events = 0;
  std::uint64_t lost = 0;  // events
  std::string causes;      // of the lost: "ring_full 2"
  std::string others;      // "names_full 3", see trace::Losses
};

struct Included {
  std::optional<NodeTotals> totals;  // of the node's file as it is then; nothing: as it was
  // Why nothing was looked at, and the file does not say so; it was told. Or empty.
  std::string problem;
};

// Merges those that are there into the node's file, which holds all of ours already and stays as it
// is where that fails. A tool does it: what others write is not read in the job's process. What it
// refuses the file names. `ranks`: those that the file has; what is of another node's goes into
// that one's.
Included include_traces(Agent& agent, const std::string& node_path,
                        const std::vector<std::int64_t>& ranks);

// By what the tool says of the file that it has written (tools/merge_report.cpp).
std::optional<NodeTotals> totals_said(std::string_view said, const std::string& node_path);

// Why it failed, as the tool says it, without the tool's name: the first problem, and how many
// more.
std::string problem_said(std::string_view said);

// Of names of files: the option's.
std::vector<std::string> included_patterns(const config::Options& options);

}  // namespace traceagent::process
