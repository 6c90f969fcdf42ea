#include "tools/clocks/clock_agreement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace traceagent::tools {

namespace {

template <class Part>
bool is_within(const std::vector<Part>& parts, std::int64_t at_ns) {
  return std::any_of(parts.begin(), parts.end(), [at_ns](const Part& part) {
    return part.span.from_ns <= at_ns && at_ns <= part.span.until_ns;
  });
}

bool is_within(const ClockSpans& spans, std::int64_t at_ns) {
  const auto behind =
      std::upper_bound(spans.begin(), spans.end(), at_ns,
                       [](std::int64_t at, const ClockSpan& span) { return at < span.from_ns; });
  return behind != spans.begin() && at_ns <= std::prev(behind)->until_ns;
}

// Wraps rather than overflows: times come from files.
std::int64_t less(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

double apart_ns(std::int64_t a_ns, std::int64_t b_ns) {
  return std::abs(static_cast<double>(less(a_ns, b_ns)));
}

// The node, and all through which it was found, but for the first.
void suspect(std::uint32_t node, const std::vector<ClockEdge>& edges, const ClockRoutes& routes,
             Disagreement& found) {
  found.nodes.insert(node);
  for (const std::uint32_t edge : routes[node]->edges) {
    for (const std::uint32_t end : {edges[edge].from, edges[edge].to}) {
      if (end != 0) found.nodes.insert(end);
    }
  }
}

// Who is not known is not believed beside one that is; the first is.
void suspect_both(std::uint32_t one, std::uint32_t other, const std::vector<ClockNode>& nodes,
                  const std::vector<ClockEdge>& edges, const ClockRoutes& routes,
                  Disagreement& found) {
  for (const std::uint32_t end : {one, other}) {
    const std::uint32_t its_other = end == one ? other : one;
    const bool is_known_alone = nodes[end].is_of_known_node && !nodes[its_other].is_of_known_node;
    if (end != 0 && !is_known_alone) suspect(end, edges, routes, found);
  }
}

void say(const char* by, std::uint32_t one, std::uint32_t other, const std::string& where,
         const std::vector<ClockNode>& nodes, Disagreement& found) {
  if (!found.reason.empty()) return;
  found.reason = std::string(by) + " of " + nodes[one].name + " and " + nodes[other].name +
                 " contradict what else is known of their clocks" + where +
                 ": a clock was set, or the files are of two runs";
}

// Beside its bound.
double unsure_by_ns(const ClockRoute& route, std::int64_t at_ns) {
  double by_ns = 0;
  for (const ClockUnsure& each : route.unsure) {
    if (each.span.from_ns <= at_ns && at_ns <= each.span.until_ns) {
      by_ns = std::max(by_ns, each.by_ns);
    }
  }
  return by_ns;
}

// One barrier on the first node's clock, as a mark tells it.
struct Told {
  std::int64_t at_ns;
  double bound_ns;
};

std::vector<Told> told_by(const BarrierClock& clock, const std::string& batch,
                          const std::vector<ClockNode>& nodes, const ClockRoutes& routes) {
  std::vector<Told> all;
  const ClockRoute& route = *routes[clock.node];
  for (const std::size_t i : clock.barriers.of_batch.at(batch)) {
    const BarrierMark& mark = clock.barriers.marks[i];
    const double unsure_ns = unsure_by_ns(route, mark.at_ns);
    if (!is_within(nodes[clock.node].spans, mark.at_ns) || is_within(route.steps, mark.at_ns) ||
        std::isinf(unsure_ns)) {
      continue;
    }
    all.push_back(
        {route.correction.corrected(mark.at_ns),
         route.bound_ns + unsure_ns + static_cast<double>(mark.bound_ns + mark.moved_ns)});
  }
  return all;
}

// `all`: in the order of time.
bool is_one_of(const Told& told, const std::vector<Told>& all) {
  const auto behind =
      std::lower_bound(all.begin(), all.end(), told.at_ns,
                       [](const Told& each, std::int64_t at_ns) { return each.at_ns < at_ns; });
  const auto agrees = [&told](const Told& its) {
    return apart_ns(told.at_ns, its.at_ns) <= told.bound_ns + its.bound_ns + 1.0;
  };
  return (behind != all.end() && agrees(*behind)) ||
         (behind != all.begin() && agrees(*std::prev(behind)));
}

bool are_of(const std::vector<Told>& told, const std::vector<Told>& all) {
  return std::all_of(told.begin(), told.end(),
                     [&all](const Told& each) { return is_one_of(each, all); });
}

// The marks of one batch, as one clock tells them.
struct ToldBatch {
  const BarrierClock* clock;
  std::vector<Told> told;
};

std::map<std::string, std::vector<const BarrierClock*>> batches_of(
    const std::vector<BarrierClock>& clocks, const ClockRoutes& routes) {
  std::map<std::string, std::vector<const BarrierClock*>> batches;
  for (const BarrierClock& clock : clocks) {
    if (!routes[clock.node]) continue;
    for (const auto& [name, at] : clock.barriers.of_batch) batches[name].push_back(&clock);
  }
  return batches;
}

// Of those that tell all times of the batch the one that is known best; null: none does.
const ToldBatch* best_of(const std::vector<ToldBatch>& all, std::size_t runs,
                         const ClockRoutes& routes) {
  const ToldBatch* best = nullptr;
  for (const ToldBatch& each : all) {
    const auto bound_ns = [&](const ToldBatch& of) { return routes[of.clock->node]->bound_ns; };
    const bool is_better = best == nullptr || bound_ns(each) < bound_ns(*best);
    if (each.told.size() >= runs && is_better) best = &each;
  }
  return best;
}

// Begin, middle and end of all times, and `more` of them.
template <class IsDenied>
bool is_any(const ClockSpans& spans, const std::vector<std::int64_t>& more,
            const IsDenied& is_denied) {
  return std::any_of(spans.begin(), spans.end(),
                     [&](const ClockSpan& span) {
                       const std::int64_t middle_ns = std::midpoint(span.from_ns, span.until_ns);
                       return is_denied(span.from_ns) || is_denied(middle_ns) ||
                              is_denied(span.until_ns);
                     }) ||
         std::any_of(more.begin(), more.end(), [&](std::int64_t at_ns) {
           return is_within(spans, at_ns) && is_denied(at_ns);
         });
}

// All is straight between these.
void add_corners(const trace::ClockCorrection& correction, std::vector<std::int64_t>& corners) {
  for (const trace::ClockKnot& knot : correction.knots()) corners.push_back(knot.at_ns);
}

// Just outside of what is no time of either side.
void add_corners(const std::vector<ClockStep>& steps, std::vector<std::int64_t>& corners) {
  for (const ClockStep& step : steps) {
    corners.push_back(less(step.span.from_ns, 1));
    corners.push_back(less(step.span.until_ns, -1));
  }
}

}  // namespace

void check_barriers(const std::vector<BarrierClock>& clocks, std::size_t runs,
                    const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                    const ClockRoutes& routes, Disagreement& found) {
  for (const auto& [name, clocks_of_batch] : batches_of(clocks, routes)) {
    std::vector<ToldBatch> all;
    for (const BarrierClock* const clock : clocks_of_batch) {
      std::vector<Told> told = told_by(*clock, name, nodes, routes);
      if (!told.empty()) all.push_back({clock, std::move(told)});
    }
    const ToldBatch* const best = best_of(all, runs, routes);
    if (best == nullptr) continue;
    std::vector<const ToldBatch*> denied, witnesses;  // these say the same as the best
    for (const ToldBatch& each : all) {
      if (&each != best) (are_of(each.told, best->told) ? witnesses : denied).push_back(&each);
    }
    for (const ToldBatch* const each : denied) {
      say("Composer's barriers", best->clock->node, each->clock->node,
          " at epoch and batch " + name, nodes, found);
      suspect(each->clock->node, edges, routes, found);
      // One that is known so loosely that it may say the same as both is no witness.
      const bool is_best_believed =
          std::any_of(witnesses.begin(), witnesses.end(), [&](const ToldBatch* witness) {
            return witness->told.size() >= runs && !are_of(each->told, witness->told);
          });
      if (!is_best_believed) suspect(best->clock->node, edges, routes, found);
    }
  }
}

bool deny_each_other(const ClockEdge& edge, const ClockEdge& other,
                     const std::vector<ClockNode>& nodes) {
  const bool is_same_way = edge.from == other.from && edge.to == other.to;
  const bool is_other_way = edge.from == other.to && edge.to == other.from;
  if (!is_same_way && !is_other_way) return false;
  if (!nodes[edge.from].earlier_bound_ns || !nodes[edge.to].earlier_bound_ns) return false;
  const ClockDifference& one = edge.difference;
  const ClockDifference two = is_same_way ? other.difference : other.difference.inverse();
  std::vector<std::int64_t> corners;
  add_corners(one.correction(), corners);
  add_corners(two.correction(), corners);
  add_corners(two.steps, corners);
  return is_any(nodes[edge.from].spans, corners, [&](std::int64_t at_ns) {
    return !is_within(two.steps, at_ns) &&
           apart_ns(one.correction().corrected(at_ns), two.correction().corrected(at_ns)) >
               one.bound_ns({at_ns, at_ns}) + two.bound_ns({at_ns, at_ns}) + 1.0;
  });
}

void check_differences(const char* by, const std::vector<ClockEdge>& claims,
                       const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                       const ClockRoutes& routes, Disagreement& found) {
  for (const ClockEdge& edge : claims) {
    const ClockNode &from = nodes[edge.from], &to = nodes[edge.to];
    if (!routes[edge.from] || !routes[edge.to]) continue;
    if (!from.earlier_bound_ns || !to.earlier_bound_ns) continue;
    const ClockRoute &of_from = *routes[edge.from], &of_to = *routes[edge.to];
    const ClockDifference& difference = edge.difference;
    std::vector<std::int64_t> corners;
    add_corners(difference.correction(), corners);
    add_corners(difference.steps, corners);
    add_corners(of_from.correction, corners);
    add_corners(of_from.steps, corners);
    const bool is_denied = is_any(from.spans, corners, [&](std::int64_t at_ns) {
      const std::int64_t there_ns = difference.correction().corrected(at_ns);
      if (!is_within(to.spans, there_ns) || is_within(difference.steps, at_ns) ||
          is_within(of_from.steps, at_ns) || is_within(of_to.steps, there_ns)) {
        return false;
      }
      return apart_ns(of_from.correction.corrected(at_ns), of_to.correction.corrected(there_ns)) >
             of_from.bound_ns + of_to.bound_ns + difference.bound_ns({at_ns, at_ns}) + 1.0;
    });
    if (!is_denied) continue;
    say(by, edge.to, edge.from, "", nodes, found);
    suspect_both(edge.from, edge.to, nodes, edges, routes, found);
  }
}

void check_contradictory(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs,
                         const std::vector<ClockEdge>& by_collectives,
                         const std::vector<ClockNode>& nodes, const std::vector<ClockEdge>& edges,
                         const ClockRoutes& routes, Disagreement& found) {
  const bool is_first_believed =
      std::any_of(by_collectives.begin(), by_collectives.end(),
                  [](const ClockEdge& edge) { return edge.from == 0 || edge.to == 0; });
  for (const auto& [own, other] : pairs) {
    if (!routes[own] || !routes[other]) continue;
    say("the collectives", own, other, "", nodes, found);
    suspect_both(own, other, nodes, edges, routes, found);
    if ((own == 0 || other == 0) && !is_first_believed) found.nodes.insert(0);
  }
}

void take_back(const std::set<std::uint32_t>& nodes, const std::vector<ClockEdge>& edges,
               ClockRoutes& routes) {
  for (std::uint32_t i = 1; i < routes.size(); ++i) {
    if (!routes[i]) continue;
    const std::vector<std::uint32_t>& way = routes[i]->edges;
    const bool is_through = std::any_of(way.begin(), way.end(), [&](std::uint32_t edge) {
      return nodes.contains(edges[edge].from) || nodes.contains(edges[edge].to);
    });
    if (nodes.contains(i) || is_through) routes[i].reset();
  }
}

}  // namespace traceagent::tools
