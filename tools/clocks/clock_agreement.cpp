#include "tools/clocks/clock_agreement.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace traceagent::tools {

namespace {

bool is_in_step(const std::vector<ClockStep>& steps, std::int64_t at_ns) {
  return std::any_of(steps.begin(), steps.end(), [at_ns](const ClockStep& step) {
    return step.span.from_ns <= at_ns && at_ns <= step.span.until_ns;
  });
}

double apart_ns(std::int64_t a_ns, std::int64_t b_ns) {
  return std::abs(static_cast<double>(a_ns - b_ns));
}

void blame(std::uint32_t one, std::uint32_t other, const char* by, const std::string& where,
           const std::vector<ClockNode>& nodes, Disagreement& found) {
  if (found.reason.empty()) {
    found.reason = std::string(by) + " of " + nodes[one].name + " and " + nodes[other].name +
                   " contradict what else is known of their clocks" + where +
                   ": a clock was set, or the files are of two runs";
  }
  for (const std::uint32_t node : {one, other}) {
    if (node != 0) found.nodes.insert(node);
  }
}

// One barrier on the reference's clock, as a mark tells it.
struct Told {
  std::int64_t at_ns;
  double bound_ns;
};

std::optional<Told> told_by(const BarrierMark& mark, const ClockRoute& route) {
  if (is_in_step(route.steps, mark.at_ns)) return std::nullopt;
  return Told{route.correction.corrected(mark.at_ns),
              route.bound_ns + static_cast<double>(mark.bound_ns + mark.moved_ns)};
}

// Nothing is denied where that is not known.
std::optional<double> earlier_bounds_ns(const ClockNode& one, const ClockNode& other) {
  if (!one.earlier_bound_ns || !other.earlier_bound_ns) return std::nullopt;
  return static_cast<double>(*one.earlier_bound_ns + *other.earlier_bound_ns);
}

// Begin, middle and end of all times.
template <class IsDenied>
bool is_any(const ClockSpans& spans, const IsDenied& is_denied) {
  return std::any_of(spans.begin(), spans.end(), [&](const ClockSpan& span) {
    const std::int64_t middle_ns = span.from_ns + (span.until_ns - span.from_ns) / 2;
    return is_denied(span.from_ns) || is_denied(middle_ns) || is_denied(span.until_ns);
  });
}

}  // namespace

void check_barriers(const std::vector<BarrierClock>& clocks, std::size_t runs,
                    const std::vector<ClockNode>& nodes, const ClockRoutes& routes,
                    Disagreement& found) {
  std::map<std::string, const BarrierClock*> knows_all;
  constexpr std::size_t most_runs = 1000;  // of each mark with each
  if (runs > most_runs) return;
  for (const BarrierClock& clock : clocks) {
    if (!routes[clock.node]) continue;
    for (const auto& [batch, at] : clock.barriers.of_batch) {
      if (at.size() >= runs) knows_all.try_emplace(batch, &clock);
    }
  }
  const auto is_one_of = [&](const Told& told, const BarrierClock& other,
                             const std::string& batch) {
    const std::vector<std::size_t>& marks = other.barriers.of_batch.at(batch);
    return std::any_of(marks.begin(), marks.end(), [&](std::size_t mark) {
      const auto its = told_by(other.barriers.marks[mark], *routes[other.node]);
      return !its || apart_ns(told.at_ns, its->at_ns) <= told.bound_ns + its->bound_ns + 1.0;
    });
  };
  for (const BarrierClock& clock : clocks) {
    if (!routes[clock.node]) continue;
    for (const auto& [batch, at] : clock.barriers.of_batch) {
      const auto all = knows_all.find(batch);
      if (all == knows_all.end() || all->second == &clock) continue;
      for (const std::size_t mark : at) {
        const auto told = told_by(clock.barriers.marks[mark], *routes[clock.node]);
        if (told && !is_one_of(*told, *all->second, batch)) {
          blame(all->second->node, clock.node, "Composer's barriers",
                " at epoch and batch " + batch, nodes, found);
        }
      }
    }
  }
}

// If no clock was set both are right within their bounds, also where the collectives could not have
// shown it.
bool deny_each_other(const ClockEdge& edge, const ClockEdge& other,
                     const std::vector<ClockNode>& nodes) {
  const bool is_same_way = edge.from == other.from && edge.to == other.to;
  const bool is_other_way = edge.from == other.to && edge.to == other.from;
  const auto earlier_ns = earlier_bounds_ns(nodes[edge.from], nodes[edge.to]);
  if ((!is_same_way && !is_other_way) || !earlier_ns) return false;
  const ClockDifference& one = edge.difference;
  const ClockDifference two = is_same_way ? other.difference : other.difference.inverse();
  return is_any(nodes[edge.from].spans, [&](std::int64_t at_ns) {
    return !is_in_step(two.steps, at_ns) &&
           apart_ns(one.correction().corrected(at_ns), two.correction().corrected(at_ns)) >
               one.bound_ns({at_ns, at_ns}) + two.bound_ns({at_ns, at_ns}) + *earlier_ns + 1.0;
  });
}

void check_collectives(const std::vector<ClockEdge>& edges, const std::vector<ClockNode>& nodes,
                       const ClockRoutes& routes, Disagreement& found) {
  for (const ClockEdge& edge : edges) {
    const auto& from = routes[edge.from];
    const auto& to = routes[edge.to];
    const auto earlier_ns = earlier_bounds_ns(nodes[edge.from], nodes[edge.to]);
    if (!from || !to || !earlier_ns) continue;
    const ClockDifference& difference = edge.difference;
    const bool is_denied = is_any(nodes[edge.from].spans, [&](std::int64_t at_ns) {
      const std::int64_t there_ns = difference.correction().corrected(at_ns);
      if (is_in_step(difference.steps, at_ns) || is_in_step(from->steps, at_ns) ||
          is_in_step(to->steps, there_ns)) {
        return false;
      }
      return apart_ns(from->correction.corrected(at_ns), to->correction.corrected(there_ns)) >
             from->bound_ns + to->bound_ns + difference.bound_ns({at_ns, at_ns}) + *earlier_ns +
                 1.0;
    });
    if (is_denied) blame(edge.to, edge.from, "the collectives", "", nodes, found);
  }
}

void take_back(const std::set<std::uint32_t>& nodes, const std::vector<ClockEdge>& edges,
               ClockRoutes& routes) {
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    if (!routes[i]) continue;
    const std::vector<std::uint32_t>& way = routes[i]->edges;
    const bool is_through = std::any_of(way.begin(), way.end(), [&](std::uint32_t edge) {
      return nodes.contains(edges[edge].from) || nodes.contains(edges[edge].to);
    });
    if (nodes.contains(i) || is_through) routes[i].reset();
  }
}

}  // namespace traceagent::tools
