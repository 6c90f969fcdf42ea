#include "tools/clocks/reused_collectives.hpp"

#include <algorithm>
#include <map>

namespace traceagent::tools {

namespace {

// Parts of one file may hold the same collective.
bool have_files_in_common(const ClockNode& a, const ClockNode& b) {
  return std::ranges::any_of(a.sources,
                             [&](const std::string& source) { return b.sources.contains(source); });
}

}  // namespace

ReusedCollectives::ReusedCollectives(const std::vector<ClockNode>& nodes) : rivals_(nodes.size()) {
  std::map<std::int64_t, std::vector<std::uint32_t>> nodes_of;  // by rank; mostly one each
  for (std::uint32_t own = 0; own < nodes.size(); ++own) {
    if (nodes[own].is_ours) continue;
    for (const std::int64_t rank : nodes[own].ranks) {
      for (const std::uint32_t other : nodes_of[rank]) {
        if (have_files_in_common(nodes[own], nodes[other])) continue;
        rivals_[own].push_back(other);
        rivals_[other].push_back(own);
      }
      nodes_of[rank].push_back(own);
    }
  }
}

void ReusedCollectives::add(std::size_t node, const CollectiveKey& key) {
  const std::vector<std::uint32_t>& rivals = rivals_[node];
  if (rivals.empty()) return;
  const auto found = holders_.find(key);
  if (found == holders_.end()) {
    if (holders_.size() < most) holders_[key].nodes.push_back(static_cast<std::uint32_t>(node));
    return;
  }
  Holders& holders = found->second;
  if (holders.is_counted || std::ranges::find(holders.nodes, node) != holders.nodes.end()) return;
  holders.is_counted = std::ranges::any_of(holders.nodes, [&](std::uint32_t holder) {
    return std::ranges::find(rivals, holder) != rivals.end();
  });
  count_ += holders.is_counted ? 1 : 0;
  holders.nodes.push_back(static_cast<std::uint32_t>(node));
}

}  // namespace traceagent::tools
