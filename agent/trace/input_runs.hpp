#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// Why they are not of one run, in words; empty: they may be. Of those in use.
std::string different_runs(const std::vector<MergeInput>& inputs);
// The line that refuses them.
std::string different_runs_problem(const std::string& runs);

// The runs of those in use, where there are several, each with its nodes: "node 0 is of KEY, node 1
// of KEY"; else empty. One job may have such: where no launcher names it, each node does. So may
// two.
std::string joined_runs(const std::vector<MergeInput>& inputs);
// Their keys.
std::set<std::string> run_keys_of(const std::vector<MergeInput>& inputs);

// Which have files of more than one run in use, in order: lanes and arrows of the two have one
// number.
std::vector<std::int64_t> ranks_of_several_runs(const std::vector<MergeInput>& inputs);

}  // namespace traceagent::trace
