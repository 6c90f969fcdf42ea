#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/clocks/align_clocks.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

// Of an edge, for the report alone.
struct EdgeFacts {
  std::string method;
  std::uint64_t collectives = 0;
  // Of whose times.
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool is_unsure = false;  // an earlier merge was, of what it is made of
};

struct ClockReport {
  const std::vector<ClockNode>* nodes = nullptr;
  const std::vector<ClockNode>* others = nullptr;  // that nothing can be said of
  const std::vector<EdgeFacts>* edges = nullptr;
  std::vector<std::optional<ClockRoute>> routes;  // of the nodes
  std::uint64_t collectives = 0;
  std::uint64_t inconsistent = 0;
  std::uint64_t one_of = 1;
  ClockLimits limits;
  std::string reason;  // why not all could be aligned; or empty

  [[nodiscard]] bool has_all() const;
};

// The corrections, and all that is said of them.
ClockAlignment aligned(const ClockReport& report);

}  // namespace traceagent::tools
