#include "tools/merge_outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "config/name_template.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct FileOfNode {
  std::string path;
  std::string name;
  std::int64_t rank = 0;
  std::optional<std::int64_t> node;  // others' files say none
  bool is_one = true;
};

// Of one that cannot be read: any node's merge says so.
FileOfNode file_of_node(const std::string& path) {
  trace::TraceReader reader;
  if (!reader.open(path)) {
    return {path, path, 0, std::nullopt, true};
  }
  const std::string& info = reader.header().distributed_info;
  return {path, reader.header().trace_name, reader.header().rank,
          trace::integer_member(info, "node_rank"), !trace::member(info, "node_ranks").has_value()};
}

using NodesOfRanks = std::map<std::int64_t, std::int64_t>;

// Of our own files, whose node_rank is known.
NodesOfRanks nodes_of_ranks(const std::vector<FileOfNode>& files) {
  NodesOfRanks nodes;
  for (const FileOfNode& file : files) {
    if (!file.node) {
      continue;
    }
    trace::TraceReader reader;
    nodes[file.rank] = *file.node;
    if (reader.open(file.path)) {
      const auto ranks = trace::member(reader.header().distributed_info, "ranks");
      trace::for_each_element(ranks.value_or(""), [&](std::string_view rank) {
        nodes[trace::parse_integer(rank).value_or(file.rank)] = *file.node;
      });
    }
  }
  return nodes;
}

// Where no file says a node, or all say the same, there is one.
std::optional<std::int64_t> node_of(const FileOfNode& file, const NodesOfRanks& nodes) {
  if (file.node) {
    return file.node;
  }
  if (const auto found = nodes.find(file.rank); found != nodes.end()) {
    return found->second;
  }
  const std::int64_t first = nodes.empty() ? 0 : nodes.begin()->second;
  const bool is_one = std::all_of(nodes.begin(), nodes.end(),
                                  [&](const auto& each) { return each.second == first; });
  return is_one ? std::optional(first) : std::nullopt;
}

bool has_node(const std::string& name_template) {
  const auto names = config::variables_in(name_template);
  return std::find(names.begin(), names.end(), "node_rank") != names.end();
}

}  // namespace

NodeTemplate node_template(const std::string& output, bool gzip) {
  const fs::path path(output.empty() ? "." : output);
  if (has_node(path.parent_path().string())) {
    return {{}, "a folder for each node: " + output + ": put {node_rank} into the file's name"};
  }
  if (has_node(output)) {
    return {output, config::template_problem(output)};
  }
  if (output.ends_with(".json") || output.ends_with(".gz")) {
    return {{}, "one name for all nodes: " + output + ": give a folder, or {node_rank} within it"};
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return {{},
            "cannot make a folder: " + output + ": " + error.message() +
                ": give one that this user may write to"};
  }
  const std::string name = usual_node_name + std::string(gzip ? ".gz" : "");
  return {output.empty() ? name : config::as_template(output) + "/" + name, {}};
}

MergeOutputs outputs_of_nodes(const std::vector<std::string>& files,
                              const std::string& name_template) {
  MergeOutputs result;
  std::vector<FileOfNode> known;
  for (const std::string& path : files) {
    known.push_back(file_of_node(path));
  }
  const NodesOfRanks nodes_by_rank = nodes_of_ranks(known);
  std::map<std::int64_t, std::vector<std::string>> nodes;
  for (const FileOfNode& file : known) {
    if (!file.is_one) {
      result.problem = "a file of several nodes: " + file.path + ": give the rank files instead";
      return result;
    }
    const auto node = node_of(file, nodes_by_rank);
    if (!node) {
      result.problem = "a file of a node that nobody names: " + file.name + ": rank " +
                       std::to_string(file.rank) +
                       " has no file of TraceAgent's: give that too, or --rank FILE=N";
      return result;
    }
    nodes[*node].push_back(file.path);
  }
  for (auto& [node, inputs] : nodes) {
    config::NameVariables variables;
    variables.node_rank = node;
    result.outputs.push_back(
        {config::format_name(name_template, variables).name, std::move(inputs)});
  }
  return result;
}

}  // namespace traceagent::tools
