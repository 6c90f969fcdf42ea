#include "tools/merge_outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/trace_reader.hpp"
#include "agent/trace/whole_sources.hpp"
#include "config/name_template.hpp"
#include "tools/import/sagemaker_names.hpp"
#include "tools/losses.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct FileOfNode {
  std::string path;
  std::string name;
  std::int64_t rank = 0;
  std::optional<std::int64_t> node;  // others' files say none
  std::string host;                  // of others' files, where that is known
  bool is_one = true;
};

// Of one that cannot be read: any node's merge says so.
FileOfNode file_of_node(const std::string& path) {
  trace::TraceReader reader;
  if (!reader.open(path)) {
    return {path, path, 0, std::nullopt, "", true};
  }
  const std::string& info = reader.header().distributed_info;
  return {path,
          reader.header().trace_name,
          reader.header().rank,
          trace::integer_member(info, "node_rank"),
          std::string(trace::string_member(info, "host").value_or("")),
          !trace::member(info, "node_ranks").has_value()};
}

using NodesOfRanks = std::map<std::int64_t, std::int64_t>;

// Of files whose node is known.
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

// Of all files, the node of each.
class Nodes {
 public:
  explicit Nodes(std::vector<FileOfNode>& files)
      : has_own_(std::any_of(files.begin(), files.end(),
                             [](const FileOfNode& file) { return file.node.has_value(); })) {
    if (!has_own_) number_hosts(files);
    by_rank_ = nodes_of_ranks(files);
  }

  // Nothing: several nodes are known, and nobody says which.
  std::optional<std::int64_t> of(const FileOfNode& file) {
    if (file.node) return file.node;
    if (const auto found = by_rank_.find(file.rank); found != by_rank_.end()) return found->second;
    // Where no file says a node, or all say the same, there is one.
    const std::int64_t first = by_rank_.empty() ? 0 : by_rank_.begin()->second;
    const bool is_one = std::all_of(by_rank_.begin(), by_rank_.end(),
                                    [&](const auto& each) { return each.second == first; });
    if (has_own_) return is_one ? std::optional(first) : std::nullopt;
    homeless_ranks_.insert(file.rank);
    return is_one ? first : static_cast<std::int64_t>(hosts_.size());
  }

  // See MergeOutputs; after of() was asked for all.
  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      notes.push_back("node " + std::to_string(i) + ": " + hosts_[i]);
    }
    if (homeless_ranks_.size() + hosts_.size() > 1 && !homeless_ranks_.empty()) {
      const std::size_t node = hosts_.size() > 1 ? hosts_.size() : 0;
      notes.push_back("node " + std::to_string(node) + ": " +
                      in_words(homeless_ranks_.size(), "rank") +
                      ", of one node or of several: no file tells the host");
    }
    return notes;
  }

 private:
  // Those that others' files name become the nodes, that of the lowest rank first.
  void number_hosts(std::vector<FileOfNode>& files) {
    std::map<std::string, std::int64_t> lowest;
    for (const FileOfNode& file : files) {
      if (file.host.empty()) continue;
      const auto [at, is_new] = lowest.try_emplace(file.host, file.rank);
      if (is_new) hosts_.push_back(file.host);
      at->second = std::min(at->second, file.rank);
    }
    std::sort(hosts_.begin(), hosts_.end(), [&](const std::string& a, const std::string& b) {
      return lowest[a] != lowest[b] ? lowest[a] < lowest[b] : place_of_host(a) < place_of_host(b);
    });
    for (FileOfNode& file : files) {
      const auto at = std::find(hosts_.begin(), hosts_.end(), file.host);
      if (at != hosts_.end()) file.node = at - hosts_.begin();
    }
  }

  bool has_own_;  // files that name their node
  std::vector<std::string> hosts_;
  NodesOfRanks by_rank_;
  std::set<std::int64_t> homeless_ranks_;
};

// What a file holds whole of the files that it was made of, or is.
std::set<std::string> held_by(const trace::MergeInput& input) {
  const bool is_merged = !input.header.sources.empty();
  if (!input.header.selections.empty()) return {};
  if (is_merged) return trace::whole_sources_of(input).whole;
  const bool is_imported = !input.imported_mark.empty();  // which was read already
  if (!is_imported && !trace::is_undamaged(input.report.path)) return {};
  return trace::identities_of(input);
}

// They cannot be divided, and are seldom meant: an older merge's output in the folder.
void leave_out_those_of_several(std::vector<FileOfNode>& files, MergeOutputs& result) {
  std::vector<std::string> of_several, of_one;
  for (const FileOfNode& file : files) (file.is_one ? of_one : of_several).push_back(file.path);
  if (of_several.empty()) return;
  std::set<std::string> held;
  for (const trace::MergeInput& input : trace::read_headers(of_one)) {
    if (input.is_used()) held.merge(held_by(input));
  }
  for (const trace::MergeInput& input : trace::read_headers(of_several)) {
    const std::string& path = input.report.path;
    if (std::ranges::includes(held, trace::identities_of(input))) {
      result.notes.push_back(
          "left out: " + path +
          ": it is of several nodes, and other files that are given hold all of it");
    } else {
      result.problems.push_back("a file of several nodes: " + path +
                                ": left out, and no other file holds all of it: give the rank "
                                "files that it was made of");
    }
  }
  std::erase_if(files, [](const FileOfNode& file) { return !file.is_one; });
}

bool has_node(const std::string& name_template) {
  const auto names = config::variables_in(name_template);
  return std::find(names.begin(), names.end(), "node_rank") != names.end();
}

// What it names beside the node; empty: nothing.
std::string unknown_variable(const std::string& name_template) {
  const auto names = config::variables_in(name_template);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [](const std::string& name) { return name != "node_rank"; });
  return found == names.end() ? "" : *found;
}

}  // namespace

NodeTemplate node_template(const std::string& output, bool gzip) {
  const fs::path path(output.empty() ? "." : output);
  if (has_node(path.parent_path().string())) {
    return {{}, "a folder for each node: " + output + ": put {node_rank} into the file's name"};
  }
  if (has_node(output)) {
    const std::string problem = config::template_problem(output);
    const std::string unknown = problem.empty() ? unknown_variable(output) : "";
    if (unknown.empty()) return {output, problem};
    return {{},
            "bad output: " + output + ": {" + unknown +
                "}: of a node only {node_rank} is known here: write the rest out (two braces are "
                "one that stays)"};
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
  leave_out_those_of_several(known, result);
  Nodes known_nodes(known);
  std::map<std::int64_t, std::vector<std::string>> nodes;
  for (const FileOfNode& file : known) {
    const auto node = known_nodes.of(file);
    if (!node) {
      result.problem = "a file of a node that nobody names: " + file.name + ": rank " +
                       std::to_string(file.rank) +
                       " has no file of TraceAgent's: give that too, or --rank FILE=N";
      return result;
    }
    nodes[*node].push_back(file.path);
  }
  for (std::string& note : known_nodes.notes()) result.notes.push_back(std::move(note));
  for (auto& [node, inputs] : nodes) {
    config::NameVariables variables;
    variables.node_rank = node;
    result.outputs.push_back(
        {config::format_name(name_template, variables).name, std::move(inputs)});
  }
  return result;
}

}  // namespace traceagent::tools
