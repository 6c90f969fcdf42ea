#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/clocks/barrier_pairs.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

// The nodes' clocks are brought together by some of what is known of each two of them. What is
// found must agree with all of it, within the bounds that are told: else a clock was set or
// steered unseen, or the files are of two runs.
struct Disagreement {
  std::set<std::uint32_t> nodes;  // but the first, to whose clock the others are moved
  std::string reason;             // of the first one; empty: all agree
};

struct BarrierClock {
  std::uint32_t node = 0;  // the first of that clock
  PassedBarriers barriers;
};

using ClockRoutes = std::vector<std::optional<ClockRoute>>;

// A clock that has passed a barrier as often as the job has begun (`runs`) knows all its times:
// every other mark of that batch is one of these. A job that has begun a thousand times is not
// looked at.
void check_barriers(const std::vector<BarrierClock>& clocks, std::size_t runs,
                    const std::vector<ClockNode>& nodes, const ClockRoutes& routes,
                    Disagreement& found);

// Two edges, in whatever direction: how far they are apart at times of `from` (bounds and what
// earlier merges left taken off) is more than nothing.
bool deny_each_other(const ClockEdge& edge, const ClockEdge& other,
                     const std::vector<ClockNode>& nodes);

// `edges`: by collectives, whether they were used or not.
void check_collectives(const std::vector<ClockEdge>& edges, const std::vector<ClockNode>& nodes,
                       const ClockRoutes& routes, Disagreement& found);

// Nothing is known of these, nor of what was found through them.
void take_back(const std::set<std::uint32_t>& nodes, const std::vector<ClockEdge>& edges,
               ClockRoutes& routes);

}  // namespace traceagent::tools
