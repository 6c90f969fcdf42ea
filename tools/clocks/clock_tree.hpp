#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/clocks/clock_difference.hpp"

namespace traceagent::tools {

// What takes the times of one node to another's clock, and how wrong that may be.
struct ClockEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  ClockDifference difference;
};

// When a node has events, on its own clock: in the order of time, apart from each other.
using ClockSpans = std::vector<ClockSpan>;

// The way of a node's times to node 0's clock.
struct ClockRoute {
  trace::ClockCorrection correction;
  std::vector<std::uint32_t> edges;  // as they are taken; empty: no way, or node 0 itself
  double bound_ns = 0;               // of all its events but those within a step
  std::vector<ClockStep> steps;      // on the node's own clock
  std::vector<ClockUnsure> unsure;   // on it, apart from each other, where it has events
  double wander_per_second = 0;      // that the bound allows for
};

// Of all ways from each node to node 0 (edges are used in both directions, bounds add up) the one
// with the smallest bound; nothing for a node that no edge leads to.
std::vector<std::optional<ClockRoute>> clock_routes(const std::vector<ClockSpans>& nodes,
                                                    const std::vector<ClockEdge>& edges,
                                                    const ClockLimits& limits);

}  // namespace traceagent::tools
