#include "tools/clocks/clock_tree.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace traceagent::tools {

namespace {

using trace::ClockCorrection;
using trace::ClockKnot;

ClockCorrection inverse(const ClockCorrection& correction) {
  std::vector<ClockKnot> knots = correction.knots();
  for (ClockKnot& knot : knots) {
    knot.at_ns += knot.offset_ns;
    knot.offset_ns = -knot.offset_ns;
  }
  return ClockCorrection(std::move(knots));
}

// First one, then the other: straight between the knots of both.
ClockCorrection joined(const ClockCorrection& first, const ClockCorrection& second) {
  std::vector<std::int64_t> times;
  for (const ClockKnot& knot : first.knots()) {
    times.push_back(knot.at_ns);
  }
  const ClockCorrection back = inverse(first);
  for (const ClockKnot& knot : second.knots()) {
    times.push_back(back.corrected(knot.at_ns));
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<ClockKnot> knots;
  for (const std::int64_t time : times) {
    knots.push_back({time, second.corrected(first.corrected(time)) - time});
  }
  return ClockCorrection(std::move(knots));
}

ClockSpan moved(const ClockSpan& span, const ClockCorrection& by) {
  return {by.corrected(span.from_ns), by.corrected(span.until_ns)};
}

// In the order of time, what overlaps as one.
std::vector<ClockUnsure> joined(std::vector<ClockUnsure> all) {
  std::sort(all.begin(), all.end(), [](const ClockUnsure& a, const ClockUnsure& b) {
    return a.span.from_ns < b.span.from_ns;
  });
  std::vector<ClockUnsure> apart;
  for (const ClockUnsure& each : all) {
    if (apart.empty() || apart.back().span.until_ns < each.span.from_ns) {
      apart.push_back(each);
      continue;
    }
    ClockUnsure& last = apart.back();
    last.span.until_ns = std::max(last.span.until_ns, each.span.until_ns);
    last.by_ns = std::max(last.by_ns, each.by_ns);
  }
  return apart;
}

bool overlap(const ClockSpan& a, const ClockSpan& b) {
  return a.from_ns <= b.until_ns && b.from_ns <= a.until_ns;
}

class Routes {
 public:
  Routes(const std::vector<ClockSpans>& nodes, const std::vector<ClockEdge>& edges,
         const ClockLimits& limits)
      : nodes_(nodes), edges_(edges), limits_(limits), steps_(nodes.size()) {
    for (const ClockEdge& edge : edges_) {
      inverses_.push_back(edge.difference.inverse());
    }
  }

  void find();
  [[nodiscard]] std::optional<ClockRoute> route(std::uint32_t node) const;

 private:
  struct Step {
    double bound_ns = std::numeric_limits<double>::infinity();
    std::uint32_t edge = 0;
    std::uint32_t next = 0;  // towards node 0
    bool is_final = false;
  };

  [[nodiscard]] const ClockDifference& difference(std::uint32_t edge, std::uint32_t from) const {
    return edges_[edge].from == from ? edges_[edge].difference : inverses_[edge];
  }
  [[nodiscard]] double bound_ns(std::uint32_t node, std::uint32_t end, ClockSpan span) const;
  void add_steps(std::uint32_t node, std::uint32_t at, ClockRoute& route) const;
  void widen_step_bounds(std::uint32_t node, ClockRoute& route) const;
  void add_unsure(std::uint32_t node, std::uint32_t at, ClockRoute& route) const;
  void add_unseen(std::uint32_t node, std::uint32_t at, ClockRoute& route) const;
  void reach(std::uint32_t edge, std::uint32_t from, std::uint32_t to);

  const std::vector<ClockSpans>& nodes_;
  const std::vector<ClockEdge>& edges_;
  const ClockLimits limits_;
  std::vector<ClockDifference> inverses_;
  std::vector<Step> steps_;
  using Due = std::pair<double, std::uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

// An error of e before an edge is one of at most e (1 + limit) behind it, and the edge's own.
double Routes::bound_ns(std::uint32_t node, std::uint32_t end, ClockSpan span) const {
  double sum_ns = 0;
  for (std::uint32_t at = node; at != end; at = steps_[at].next) {
    const ClockDifference& next = difference(steps_[at].edge, at);
    sum_ns = sum_ns * (1.0 + limits_.drift) + next.bound_ns(span);
    span = moved(span, next.correction());
  }
  return sum_ns;
}

void Routes::reach(std::uint32_t edge, std::uint32_t from, std::uint32_t to) {
  Step& step = steps_[from];
  if (step.is_final) {
    return;
  }
  double own_ns = 0;
  for (const ClockSpan& span : nodes_[from]) {
    own_ns = std::max(own_ns, difference(edge, from).bound_ns(span));
  }
  const double sum_ns = steps_[to].bound_ns + own_ns;
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

// Of the edge from `at` on, which the node's own times reach only within the bounds before it.
void Routes::add_steps(std::uint32_t node, std::uint32_t at, ClockRoute& route) const {
  const ClockCorrection back = inverse(route.correction);
  const std::size_t before = route.steps.size();
  for (ClockStep step : difference(steps_[at].edge, at).steps) {
    step.span = moved(step.span, back);
    double off_ns = bound_ns(node, at, step.span);
    for (std::size_t i = 0; i < before; ++i) {
      off_ns += overlap(route.steps[i].span, step.span) ? route.steps[i].bound_ns : 0.0;
    }
    step.span = widened(step.span, off_ns);
    route.steps.push_back(step);
  }
}

// As add_steps(); where the node has no events nothing needs to be known.
void Routes::add_unsure(std::uint32_t node, std::uint32_t at, ClockRoute& route) const {
  const ClockCorrection back = inverse(route.correction);
  for (ClockUnsure each : difference(steps_[at].edge, at).unsure) {
    each.span = moved(each.span, back);
    each.span = widened(each.span, bound_ns(node, at, each.span));
    const auto& events = nodes_[node];
    if (std::any_of(events.begin(), events.end(),
                    [&](const ClockSpan& span) { return overlap(span, each.span); })) {
      route.unsure.push_back(each);
    }
  }
}

// Where the node has events before what is seen of the edge from `at` on, and behind it.
void Routes::add_unseen(std::uint32_t node, std::uint32_t at, ClockRoute& route) const {
  const std::optional<ClockSpan>& seen_there = difference(steps_[at].edge, at).seen;
  if (!seen_there) {
    return;
  }
  const ClockSpan seen = moved(*seen_there, inverse(route.correction));
  const std::int64_t from_ns =
      widened(seen, -bound_ns(node, at, {seen.from_ns, seen.from_ns})).from_ns;
  const std::int64_t until_ns =
      widened(seen, -bound_ns(node, at, {seen.until_ns, seen.until_ns})).until_ns;
  for (const ClockSpan& span : nodes_[node]) {
    if (span.from_ns < from_ns) {
      route.unsure.push_back({.span = {span.from_ns, std::min(span.until_ns, from_ns)},
                              .by_ns = std::numeric_limits<double>::infinity()});
    }
    if (span.until_ns > until_ns) {
      route.unsure.push_back({.span = {std::max(span.from_ns, until_ns), span.until_ns},
                              .by_ns = std::numeric_limits<double>::infinity()});
    }
  }
}

// Within a step the other edges' bounds hold as well, and those of their steps that lie there.
void Routes::widen_step_bounds(std::uint32_t node, ClockRoute& route) const {
  const std::vector<ClockStep> alone = route.steps;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    double sum_ns = bound_ns(node, 0, alone[i].span);
    for (const ClockStep& other : alone) {
      sum_ns += overlap(other.span, alone[i].span) ? other.bound_ns * (1.0 + limits_.drift) : 0.0;
    }
    route.steps[i].bound_ns = sum_ns;
  }
}

std::optional<ClockRoute> Routes::route(std::uint32_t node) const {
  if (!steps_[node].is_final) {
    return std::nullopt;
  }
  ClockRoute route;
  for (std::uint32_t at = node; at != 0; at = steps_[at].next) {
    const ClockDifference& next = difference(steps_[at].edge, at);
    add_steps(node, at, route);
    add_unsure(node, at, route);
    add_unseen(node, at, route);
    route.correction =
        route.edges.empty() ? next.correction() : joined(route.correction, next.correction());
    route.edges.push_back(steps_[at].edge);
    route.wander_per_second = std::max(route.wander_per_second, next.limits().wander_per_second);
  }
  // Of the edges' bounds, not of the sums by which the way was chosen: these were for other spans.
  for (const ClockSpan& span : nodes_[node]) {
    route.bound_ns = std::max(route.bound_ns, bound_ns(node, 0, span));
  }
  widen_step_bounds(node, route);
  route.unsure = joined(std::move(route.unsure));
  return route;
}

}  // namespace

std::vector<std::optional<ClockRoute>> clock_routes(const std::vector<ClockSpans>& nodes,
                                                    const std::vector<ClockEdge>& edges,
                                                    const ClockLimits& limits) {
  Routes routes(nodes, edges, limits);
  routes.find();
  std::vector<std::optional<ClockRoute>> all;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    all.push_back(routes.route(node));
  }
  return all;
}

}  // namespace traceagent::tools
