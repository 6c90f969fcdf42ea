#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::drain {

// Nodes that share a folder and whose files have one name (output.merged without {node_rank}): the
// first has it, the others are refused. Those that come at one instant would all find the name
// free, and with output.overwrite the last of them would replace the others' files. So a node
// claims the name before it looks whether it is free: by a hidden symbolic link beside the file,
// whose target is the node. A link is made by one alone and never by halves, on network file
// systems too, where locks may not be had. A file system without links leaves it as it is without
// a claim.
class NodeClaim {
 public:
  NodeClaim(const std::string& node_file, std::string_view run_key, std::int64_t node_rank);
  // The file tells from then on whose the name is.
  ~NodeClaim();
  NodeClaim(const NodeClaim&) = delete;
  NodeClaim& operator=(const NodeClaim&) = delete;

  // The node of this run that makes the file, or was killed over it; nothing where the name is this
  // node's.
  std::optional<std::int64_t> other_node() const noexcept { return other_node_; }

 private:
  std::string link_;
  bool is_ours_ = false;
  std::optional<std::int64_t> other_node_;
};

}  // namespace traceagent::drain
