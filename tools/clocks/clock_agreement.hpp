#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/clocks/barrier_pairs.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

// The nodes' clocks are brought together by some of what is known of each two of them. What is
// found must agree with all of it, within the bounds that are told: else a clock was set or
// steered unseen, or the files are of two runs.
struct Disagreement {
  std::set<std::uint32_t> nodes;  // whose clock that may be
  std::string reason;             // of the first one; empty: all agree
};

struct BarrierClock {
  std::uint32_t node = 0;  // the first of that clock
  PassedBarriers barriers;
  bool is_unsure = false;  // some lie in times that an earlier merge was not sure of
};

using ClockRoutes = std::vector<std::optional<ClockRoute>>;

// A clock that has passed a barrier as often as the job has begun (`runs`) knows all its times:
// every other mark of that batch is one of these. Of such clocks the one that is known best is
// asked, and it is believed where a third one, that denies the other too, says the same; else the
// first node is not either. Times that are unsure by nobody knows how much deny nothing, nor do
// marks away from all events of their node: its bound is of these.
void check_barriers(const std::vector<BarrierClock>& clocks, std::size_t runs,
                    const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                    const ClockRoutes& routes, Disagreement& found);

// Two edges of the same two nodes, in whatever direction: at some time of `edge.from` they are
// further apart than their bounds allow. If no clock was set both are right, also where the
// collectives could not have shown it.
bool deny_each_other(const ClockEdge& edge, const ClockEdge& other,
                     const std::vector<ClockNode>& nodes);

// `claims`: what is known of two nodes, whether it is among `edges` or not; `by`: through what. Of
// a node that is known and a stranger it is the stranger that is not believed.
void check_differences(const char* by, const std::vector<ClockEdge>& claims,
                       const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                       const ClockRoutes& routes, Disagreement& found);

// `pairs`: whose collectives no two clocks that run evenly can have. One of them was set, again and
// again or back: what barriers say of it holds no longer. The first node is believed if its
// collectives and another's (`by_collectives`) do agree.
void check_contradictory(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                         const std::vector<ClockEdge>& by_collectives,
                         const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                         const ClockRoutes& routes, Disagreement& found);

// Nothing is known of these, nor of what was found through them: if the first is among them, of
// none.
void take_back(const std::set<std::uint32_t>& nodes, const std::vector<ClockEdge>& edges,
               ClockRoutes& routes);

}  // namespace traceagent::tools
