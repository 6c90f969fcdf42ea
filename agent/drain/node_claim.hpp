#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace traceagent::drain {

// Where nodes have different numbers of ranks: not fewer than there are, as far as one rank can
// tell.
std::int64_t nodes_of(std::int64_t world_size, std::int64_t local_world_size) noexcept;

// What begins the name of a claim of what other profilers left (merge.include, --include-once).
inline constexpr std::string_view included_name = "included-";

// Nodes that share a folder and whose files have one name (output.merged without {node_rank}): the
// first has it, the others are refused. Those that come at one instant would all find the name
// free, and with output.overwrite the last of them would replace the others' files. So a node
// claims the name before it looks whether it is free: by a hidden symbolic link beside the file,
// whose target is the node. A link is made by one alone and never by halves, on network file
// systems too, where locks may not be had. A file system without links leaves it as it is without
// a claim. One that a killed process has left is taken over by its node; where a later run of the
// same key has no such node any more, by any.
class NodeClaim {
 public:
  // `nodes`: how many the run has. `claimant`: who makes it for the node, a word; may be empty.
  NodeClaim(const std::string& node_file, std::string_view run_key, std::int64_t node_rank,
            std::int64_t nodes, std::string_view claimant = {});
  // Another container's of this node, which may merge still, stays.
  ~NodeClaim();
  NodeClaim(const NodeClaim&) = delete;
  NodeClaim& operator=(const NodeClaim&) = delete;

  // The node of this run that makes the file, or was killed over it; nothing where the name is this
  // node's.
  std::optional<std::int64_t> other_node() const noexcept { return other_node_; }
  const std::string& link() const noexcept { return link_; }
  // This node's file is there: it tells from then on whose the name is.
  void file_is_made() noexcept { may_go_ = is_ours_; }
  // Nothing else tells it: the claim stays.
  void keep() noexcept { may_go_ = false; }

 private:
  std::string link_;
  bool is_ours_ = false;
  bool may_go_ = false;
  std::optional<std::int64_t> other_node_;
};

// The links in the folder by which a node of a run holds names that begin so, of one claimant:
// another container of the node may make some too.
std::set<std::string> links_of_node(const std::string& folder, std::string_view name_begin,
                                    std::string_view run_key, std::int64_t node_rank,
                                    std::string_view claimant);

}  // namespace traceagent::drain
