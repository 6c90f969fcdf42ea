#include "agent/trace/input_runs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

struct RunOfFile {
  const std::string* path;
  std::string key;
  std::int64_t node_rank;
  std::set<std::int64_t> ranks;
};

std::optional<RunOfFile> run_of(const MergeInput& input) {
  const auto key = string_member(input.header.distributed_info, "run_key");
  if (!input.is_used() || !key || key->empty()) {
    return std::nullopt;
  }
  RunOfFile run{&input.report.given, std::string(*key), 0, {}};
  run.node_rank = integer_member(input.header.distributed_info, "node_rank").value_or(0);
  run.ranks = ranks_of(input, nullptr);
  return run;
}

bool may_be_one_run(const RunOfFile& a, const RunOfFile& b) {
  const bool share_a_rank = std::any_of(a.ranks.begin(), a.ranks.end(),
                                        [&](std::int64_t rank) { return b.ranks.contains(rank); });
  return a.key == b.key || (a.node_rank != b.node_rank && !share_a_rank);
}

}  // namespace

std::string different_runs(const std::vector<MergeInput>& inputs) {
  // One file of each run and node stands for the others, with all their ranks.
  std::vector<RunOfFile> runs;
  for (const MergeInput& input : inputs) {
    const std::optional<RunOfFile> run = run_of(input);
    if (!run) {
      continue;
    }
    for (const RunOfFile& other : runs) {
      if (!may_be_one_run(*run, other)) {
        return *other.path + " is of " + other.key + ", " + *run->path + " of " + run->key;
      }
    }
    const auto known = std::find_if(runs.begin(), runs.end(), [&](const RunOfFile& each) {
      return each.key == run->key && each.node_rank == run->node_rank;
    });
    if (known != runs.end()) {
      known->ranks.insert(run->ranks.begin(), run->ranks.end());
    } else {
      runs.push_back(*run);
    }
  }
  return {};
}

std::string different_runs_problem(const std::string& runs) {
  return "files of different runs: " + runs +
         ": give those of one run (or all the same: traceagent merge --mix-runs)";
}

std::vector<std::int64_t> ranks_of_several_runs(const std::vector<MergeInput>& inputs) {
  std::map<std::int64_t, std::string> run_of_rank;
  std::set<std::int64_t> mixed;
  for (const MergeInput& input : inputs) {
    const std::optional<RunOfFile> run = run_of(input);
    if (!run) continue;
    for (const std::int64_t rank : run->ranks) {
      if (run_of_rank.try_emplace(rank, run->key).first->second != run->key) mixed.insert(rank);
    }
  }
  return {mixed.begin(), mixed.end()};
}

}  // namespace traceagent::trace
