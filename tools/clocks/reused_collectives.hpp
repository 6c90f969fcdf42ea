#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {

// A rank takes part in a collective once, and has one clock. Others' files say of no run that they
// are of, and name groups and count collectives anew in each: where a rank is on two clocks, of
// files that have nothing in common, and both hold one collective, that is two runs' number.
class ReusedCollectives {
 public:
  explicit ReusedCollectives(const std::vector<ClockNode>& nodes);

  void add(std::size_t node, const CollectiveKey& key);
  // As far as was looked: not at more than `most` of them.
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;
  struct Holders {
    std::vector<std::uint32_t> nodes;
    bool is_counted = false;
  };

  std::vector<std::vector<std::uint32_t>> rivals_;  // by node: those with ranks of its own
  std::unordered_map<CollectiveKey, Holders, HashOfCollective> holders_;
  std::uint64_t count_ = 0;
};

}  // namespace traceagent::tools
