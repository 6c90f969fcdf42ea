#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/tools/simulated_clocks.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {
namespace {

constexpr double drift_limit = 200e-6;

// The furthest that any time of the node is from the truth, beyond what was stated; 0 or less is
// right.
double beyond_the_bound(const SimulatedNode& node, const SimulatedNode& reference,
                        const ClockRoute& route, const ClockSpan& span) {
  const double bound_ns = std::max(route.bound_from_ns, route.bound_until_ns);
  double worst = -bound_ns;
  for (int i = 0; i <= 40; ++i) {
    const std::int64_t t = span.from_ns + (span.until_ns - span.from_ns) / 40 * i;
    const std::int64_t truth = reference.at(node.true_time(t));
    const auto error = static_cast<double>(std::abs(route.correction.corrected(t) - truth));
    worst = std::max(worst, error - bound_ns);
    if (i == 20) worst = std::max(worst, error - route.bound_middle_ns - 1.0);
  }
  return worst;
}

struct Outcome {
  double worst_bound_ns = 0;
  double beyond_ns = -1;
  bool all_found = true;
};

Outcome recovered(const SimulatedJob& job) {
  CollectiveTable table;
  job.fill(table);
  const CollectiveTable::Solved solved = table.solve(job.spans(), drift_limit);
  const auto routes = clock_routes(job.spans(), solved.edges, drift_limit);
  Outcome outcome;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!routes[i]) {
      outcome.all_found = false;
      continue;
    }
    outcome.worst_bound_ns =
        std::max({outcome.worst_bound_ns, routes[i]->bound_from_ns, routes[i]->bound_until_ns});
    outcome.beyond_ns = std::max(outcome.beyond_ns, beyond_the_bound(job.nodes[i], job.nodes[0],
                                                                     *routes[i], job.spans()[i]));
  }
  return outcome;
}

TEST(Clocks, eight_nodes_lie_within_the_bound_and_it_is_small) {
  double largest_ns = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Outcome outcome = recovered(SimulatedJob({.seed = seed, .collectives = 1000}));
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
    largest_ns = std::max(largest_ns, outcome.worst_bound_ns);
  }
  EXPECT_LE(largest_ns, 20000.0);
  EXPECT_GE(largest_ns, 5000.0);  // the shortest collective takes that long: less would be a lie
  RecordProperty("largest_bound_ns", std::to_string(largest_ns));
}

TEST(Clocks, few_collectives_give_a_wide_bound_that_is_true) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Outcome outcome = recovered(SimulatedJob({.seed = seed, .collectives = 1 + seed % 7}));
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
  }
}

TEST(Clocks, nodes_that_share_no_communicator_with_the_first_are_reached_through_others) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const SimulatedJob job({.seed = seed, .collectives = 2000, .neighbours_only = true});
    const Outcome outcome = recovered(job);
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
    EXPECT_LE(outcome.worst_bound_ns, 7 * 20000.0);
  }
}

TEST(Clocks, broadcasts_and_reduces_together_bound_both_sides) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const SimulatedJob job({.seed = seed, .collectives = 1000, .one_way = true});
    const Outcome outcome = recovered(job);
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
  }
}

TEST(Clocks, an_impossible_set_is_refused_and_named) {
  SimulatedJob job({.seed = 5, .collectives = 1000});
  // Node 3's clock is set 50 ms forward in the middle: no line goes through that.
  job.set_clock(3, 50000000);
  CollectiveTable table;
  job.fill(table);
  const CollectiveTable::Solved solved = table.solve(job.spans(), drift_limit);
  ASSERT_TRUE(solved.is_contradictory);
  EXPECT_TRUE(solved.edges.empty());
  EXPECT_EQ(solved.own_node, 3U);
  EXPECT_EQ(solved.other_node, 0U);
  // 100 s at 200 ppm could make up for 20 ms of it at most, in the best case at both ends.
  EXPECT_GT(solved.contradiction.by_ns, 10e6);
  EXPECT_LT(solved.contradiction.by_ns, 50e6);
  EXPECT_NE(solved.contradiction.lower, solved.contradiction.upper);
}

TEST(Clocks, a_drift_beyond_the_limit_is_a_contradiction) {
  SimulatedJob job({.seed = 6, .collectives = 1000});
  job.nodes[2].drift = job.nodes[0].drift + 400e-6;
  CollectiveTable table;
  job.fill(table);
  EXPECT_TRUE(table.solve(job.spans(), drift_limit).is_contradictory);
  EXPECT_FALSE(table.solve(job.spans(), 500e-6).is_contradictory);
}

TEST(Clocks, a_table_that_lets_collectives_go_still_tells_the_truth) {
  const SimulatedJob job({.seed = 7, .collectives = 4000});
  CollectiveTable small(500);
  job.fill(small);
  EXPECT_LE(small.collectives(), 500U);
  EXPECT_GE(small.one_of(), 8U);
  const CollectiveTable::Solved solved = small.solve(job.spans(), drift_limit);
  const auto routes = clock_routes(job.spans(), solved.edges, drift_limit);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    ASSERT_TRUE(routes[i]);
    EXPECT_LE(beyond_the_bound(job.nodes[i], job.nodes[0], *routes[i], job.spans()[i]), 0.0);
  }
}

TEST(Clocks, a_number_used_twice_on_a_node_is_left_out_and_counted) {
  CollectiveTable table;
  table.add({1, 1}, {.start_ns = 100, .end_ns = 200});
  table.add({1, 1}, {.start_ns = 1100, .end_ns = 1200});
  table.finish_node(0);
  EXPECT_EQ(table.inconsistent(), 1U);
}

TEST(UpperHull, keeps_the_corners_whatever_the_order) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<ClockPoint> points;
    for (int i = 0; i < 700; ++i) {
      points.push_back(
          {static_cast<double>(random() % 1000), static_cast<double>(random() % 1000)});
    }
    UpperHull mixed;
    for (const ClockPoint& point : points) mixed.add(point);
    const std::vector<ClockPoint>& corners = mixed.corners();
    for (const double slope : {-10.0, -1.0, 0.0, 0.3, 20.0}) {
      const auto height = [&](const ClockPoint& p) { return p.y_ns - slope * p.t_ns; };
      double highest = -1e9;
      for (const ClockPoint& point : points) highest = std::max(highest, height(point));
      double of_corners = -1e9;
      for (const ClockPoint& corner : corners) of_corners = std::max(of_corners, height(corner));
      ASSERT_EQ(of_corners, highest);
    }
    ASSERT_TRUE(std::is_sorted(corners.begin(), corners.end(),
                               [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; }));
  }
}

}  // namespace
}  // namespace traceagent::tools
