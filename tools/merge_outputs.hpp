#pragma once

#include <string>
#include <vector>

namespace traceagent::tools {

struct MergeOutput {
  std::string path;
  std::vector<std::string> inputs;
};

struct MergeOutputs {
  std::vector<MergeOutput> outputs = {};
  std::string problem = {};  // one line, or empty
  // Lines that say which node is which, where no file of ours does, and what is left out.
  std::vector<std::string> notes = {};
  std::vector<std::string> problems = {};  // of files that are left out: one line each
};

inline constexpr char usual_node_name[] = "node{node_rank}.json";

struct NodeTemplate {
  std::string text = {};
  std::string problem = {};  // one line, or empty
};

// `output`: a template with {node_rank} in the file's name, or the folder (made if need be) for
// files of the usual name, with ".gz" behind it if wanted.
NodeTemplate node_template(const std::string& output, bool gzip);

// One output for each node, by the nodes that our own files name. Without any of ours the hosts
// that others' files name are the nodes, in the order of their names; files of a host that nobody
// tells stay together. A merged file of several nodes is left out, as one merge of all would, where
// the others hold all of it; else that is a problem.
MergeOutputs outputs_of_nodes(const std::vector<std::string>& files,
                              const std::string& name_template);

}  // namespace traceagent::tools
