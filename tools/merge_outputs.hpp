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
};

inline constexpr char usual_node_name[] = "node{node_rank}.json";

struct NodeTemplate {
  std::string text = {};
  std::string problem = {};  // one line, or empty
};

// `output`: a template with {node_rank} in the file's name, or the folder (made if need be) for
// files of the usual name, with ".gz" behind it if wanted.
NodeTemplate node_template(const std::string& output, bool gzip);

// One output for each node, by the nodes that the files' headers name; a file that names none is
// node 0's.
MergeOutputs outputs_of_nodes(const std::vector<std::string>& files,
                              const std::string& name_template);

}  // namespace traceagent::tools
