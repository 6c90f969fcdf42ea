#include "tools/merge_outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "config/name_template.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct NodeOfFile {
  std::int64_t node = 0;
  bool is_one = true;
};

// Of one that cannot be read: any node's merge says so.
NodeOfFile node_of(const std::string& path) {
  trace::TraceReader reader;
  if (!reader.open(path)) {
    return {};
  }
  const std::string& info = reader.header().distributed_info;
  return {trace::integer_member(info, "node_rank").value_or(0),
          !trace::member(info, "node_ranks").has_value()};
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
  std::map<std::int64_t, std::vector<std::string>> nodes;
  for (const std::string& path : files) {
    const NodeOfFile of = node_of(path);
    if (!of.is_one) {
      result.problem = "a file of several nodes: " + path + ": give the rank files instead";
      return result;
    }
    nodes[of.node].push_back(path);
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
