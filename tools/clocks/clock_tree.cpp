#include "tools/clocks/clock_tree.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace traceagent::tools {

namespace {

using trace::ClockCorrection;

ClockCorrection inverse(const ClockCorrection& line) {
  return {.reference_ns = line.reference_ns + line.offset_ns,
          .offset_ns = -line.offset_ns,
          .drift = -line.drift / (1.0 + line.drift)};
}

// First one, then the other.
ClockCorrection joined(const ClockCorrection& first, const ClockCorrection& second) {
  const std::int64_t between_ns = first.reference_ns + first.offset_ns;
  return {.reference_ns = first.reference_ns,
          .offset_ns = second.corrected(between_ns) - first.reference_ns,
          .drift = (1.0 + first.drift) * (1.0 + second.drift) - 1.0};
}

class Routes {
 public:
  Routes(const std::vector<ClockSpan>& nodes, const std::vector<ClockEdge>& edges,
         double drift_limit)
      : nodes_(nodes), edges_(edges), drift_limit_(drift_limit), steps_(nodes.size()) {}

  void find();
  [[nodiscard]] std::optional<ClockRoute> route(std::uint32_t node) const;

 private:
  struct Step {
    double bound_ns = std::numeric_limits<double>::infinity();
    std::uint32_t edge = 0;
    std::uint32_t next = 0;  // towards node 0
    bool is_final = false;
  };

  [[nodiscard]] ClockCorrection line(std::uint32_t edge, std::uint32_t from) const {
    return edges_[edge].from == from ? edges_[edge].line : inverse(edges_[edge].line);
  }
  [[nodiscard]] double bound_ns(std::uint32_t edge, std::uint32_t from, std::int64_t t_ns) const;
  [[nodiscard]] double bound_ns(const ClockRoute& route, std::uint32_t node,
                                std::int64_t t_ns) const;
  void reach(std::uint32_t edge, std::uint32_t from, std::uint32_t to);

  const std::vector<ClockSpan>& nodes_;
  const std::vector<ClockEdge>& edges_;
  double drift_limit_;
  std::vector<Step> steps_;
  using Due = std::pair<double, std::uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

// Against the edge's direction: with t' = t + d(t), an error b of d at t is one of at most
// b / (1 - limit) of t.
double Routes::bound_ns(std::uint32_t edge, std::uint32_t from, std::int64_t t_ns) const {
  const ClockEdge& used = edges_[edge];
  if (used.from == from) {
    return used.bound_ns(t_ns);
  }
  return used.bound_ns(inverse(used.line).corrected(t_ns)) / (1.0 - drift_limit_) + 1.0;
}

// An error of e before an edge is one of at most e (1 + limit) behind it, and the edge's own.
double Routes::bound_ns(const ClockRoute& route, std::uint32_t node, std::int64_t t_ns) const {
  double sum_ns = 0;
  for (const std::uint32_t edge : route.edges) {
    sum_ns = sum_ns * (1.0 + drift_limit_) + bound_ns(edge, node, t_ns);
    t_ns = line(edge, node).corrected(t_ns);
    node = edges_[edge].from == node ? edges_[edge].to : edges_[edge].from;
  }
  return sum_ns;
}

void Routes::reach(std::uint32_t edge, std::uint32_t from, std::uint32_t to) {
  Step& step = steps_[from];
  if (step.is_final) {
    return;
  }
  const double sum_ns = steps_[to].bound_ns + std::max(bound_ns(edge, from, nodes_[from].from_ns),
                                                       bound_ns(edge, from, nodes_[from].until_ns));
  if (sum_ns < step.bound_ns) {
    step = {.bound_ns = sum_ns, .edge = edge, .next = to};
    due_.emplace(sum_ns, from);
  }
}

// Dijkstra's.
void Routes::find() {
  std::vector<std::vector<std::uint32_t>> touching(nodes_.size());
  for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
    touching[edges_[edge].from].push_back(edge);
    touching[edges_[edge].to].push_back(edge);
  }
  steps_[0].bound_ns = 0;
  due_.emplace(0.0, 0);
  while (!due_.empty()) {
    const std::uint32_t node = due_.top().second;
    due_.pop();
    if (std::exchange(steps_[node].is_final, true)) {
      continue;
    }
    for (const std::uint32_t edge : touching[node]) {
      reach(edge, edges_[edge].from == node ? edges_[edge].to : edges_[edge].from, node);
    }
  }
}

std::optional<ClockRoute> Routes::route(std::uint32_t node) const {
  if (!steps_[node].is_final) {
    return std::nullopt;
  }
  ClockRoute route;
  const ClockSpan& span = nodes_[node];
  for (std::uint32_t at = node; at != 0; at = steps_[at].next) {
    const ClockCorrection next = line(steps_[at].edge, at);
    route.correction = route.edges.empty() ? next : joined(route.correction, next);
    route.edges.push_back(steps_[at].edge);
  }
  // Of the edges' bounds, not of the sums by which the way was chosen: these were for other spans.
  route.bound_from_ns = bound_ns(route, node, span.from_ns);
  route.bound_until_ns = bound_ns(route, node, span.until_ns);
  route.bound_middle_ns = bound_ns(route, node, span.from_ns + (span.until_ns - span.from_ns) / 2);
  return route;
}

}  // namespace

std::vector<std::optional<ClockRoute>> clock_routes(const std::vector<ClockSpan>& nodes,
                                                    const std::vector<ClockEdge>& edges,
                                                    double drift_limit) {
  Routes routes(nodes, edges, drift_limit);
  routes.find();
  std::vector<std::optional<ClockRoute>> all;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    all.push_back(routes.route(node));
  }
  return all;
}

}  // namespace traceagent::tools
