#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "agent/trace/clock_correction.hpp"

namespace traceagent::tools {

// What takes the times of one node to another's clock, and how wrong that may be.
struct ClockEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  trace::ClockCorrection line;
  std::function<double(std::int64_t)> bound_ns;  // at a time on from's clock; convex
};

struct ClockSpan {
  std::int64_t from_ns = 0;  // on the node's own clock
  std::int64_t until_ns = 0;
};

// The way of a node's times to node 0's clock.
struct ClockRoute {
  trace::ClockCorrection correction;
  std::vector<std::uint32_t> edges;  // as they are taken; empty: no way, or node 0 itself
  double bound_from_ns = 0;          // at the two ends of its span and in the middle
  double bound_middle_ns = 0;
  double bound_until_ns = 0;
};

// Of all ways from each node to node 0 (edges are used in both directions, bounds add up) the one
// with the smallest bound; nothing for a node that no edge leads to.
std::vector<std::optional<ClockRoute>> clock_routes(const std::vector<ClockSpan>& nodes,
                                                    const std::vector<ClockEdge>& edges,
                                                    double drift_limit);

}  // namespace traceagent::tools
