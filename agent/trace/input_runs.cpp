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

// Of a merged file, all that it was made of.
std::set<std::string> keys_of(const MergeInput& input) {
  std::set<std::string> keys;
  for_each_element(member(input.header.distributed_info, "run_keys").value_or(""),
                   [&](std::string_view key) {
                     if (key.size() >= 2) keys.insert(unescaped(key.substr(1, key.size() - 2)));
                   });
  if (const auto run = run_of(input); run && keys.empty()) keys.insert(run->key);
  return keys;
}

std::set<std::int64_t> nodes_of(const MergeInput& input) {
  std::set<std::int64_t> nodes;
  for_each_element(member(input.header.distributed_info, "node_ranks").value_or(""),
                   [&](std::string_view node) { nodes.insert(parse_integer(node).value_or(0)); });
  if (const auto run = run_of(input); run && nodes.empty()) nodes.insert(run->node_rank);
  return nodes;
}

std::string in_words(const std::set<std::int64_t>& nodes) {
  std::string words = nodes.size() == 1 ? "node " : "nodes ";
  for (const std::int64_t node : nodes) {
    words += (node == *nodes.begin() ? "" : ", ") + std::to_string(node);
  }
  return words;
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

std::set<std::string> run_keys_of(const std::vector<MergeInput>& inputs) {
  std::set<std::string> keys;
  for (const MergeInput& input : inputs) {
    if (input.is_used()) keys.merge(keys_of(input));
  }
  return keys;
}

std::string joined_runs(const std::vector<MergeInput>& inputs) {
  // A merged file of several runs does not tell which of its nodes is of which.
  std::map<std::set<std::string>, std::set<std::int64_t>> nodes_by_keys;
  for (const MergeInput& input : inputs) {
    if (const std::set<std::string> keys = keys_of(input); input.is_used() && !keys.empty()) {
      nodes_by_keys[keys].merge(nodes_of(input));
    }
  }
  if (nodes_by_keys.size() < 2) return {};
  std::string words;
  for (const auto& [keys, nodes] : nodes_by_keys) {
    words += words.empty() ? "" : "; ";
    words += in_words(nodes) + (nodes.size() == 1 ? " is of " : " are of ");
    for (const std::string& key : keys) words += (key == *keys.begin() ? "" : " and ") + key;
  }
  return words;
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
