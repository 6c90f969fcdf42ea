#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/tools/simulated_clocks.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {
namespace {

bool is_in_a_step(const ClockRoute& route, std::int64_t own_ns) {
  return std::any_of(route.steps.begin(), route.steps.end(), [own_ns](const ClockStep& step) {
    return step.span.from_ns <= own_ns && own_ns <= step.span.until_ns;
  });
}

// The furthest that any time of the node is from the truth, beyond what was stated; 0 or less is
// right. Its order must be kept, too.
double beyond_the_bound(const SimulatedJob& job, std::size_t node, const ClockRoute& route) {
  double worst = -route.bound_ns;
  for (const auto& [from_ns, until_ns] : job.true_spans()) {
    constexpr int samples = 2000;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (int i = 0; i <= samples; ++i) {
      const std::int64_t true_ns = from_ns + (until_ns - from_ns) / samples * i;
      const std::int64_t own = job.nodes[node].at(true_ns);
      const std::int64_t corrected = route.correction.corrected(own);
      const auto error = static_cast<double>(std::abs(corrected - job.nodes[0].at(true_ns)));
      const bool is_excused = is_in_a_step(route, own);
      const double bound_ns = is_excused ? route.steps.front().bound_ns : route.bound_ns;
      worst = std::max(worst, corrected < last ? 1e18 : error - bound_ns);
      last = corrected;
    }
  }
  return worst;
}

struct Outcome {
  double worst_bound_ns = 0;
  double beyond_ns = -1;
  bool all_found = true;
  std::size_t steps = 0;
  std::size_t most_knots = 0;
};

Outcome outcome_of(const SimulatedJob& job, CollectiveTable& table) {
  job.fill(table);
  const CollectiveTable::Solved solved = table.solve(job.spans());
  const auto routes = clock_routes(job.spans(), solved.edges, {});
  Outcome outcome;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!routes[i]) {
      outcome.all_found = false;
      continue;
    }
    outcome.worst_bound_ns = std::max(outcome.worst_bound_ns, routes[i]->bound_ns);
    outcome.beyond_ns = std::max(outcome.beyond_ns, beyond_the_bound(job, i, *routes[i]));
    outcome.steps += routes[i]->steps.size();
    outcome.most_knots = std::max(outcome.most_knots, routes[i]->correction.knots().size());
  }
  return outcome;
}

Outcome recovered(const SimulatedJob& job) {
  CollectiveTable table;
  return outcome_of(job, table);
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

TEST(Clocks, a_root_is_compared_with_all_wherever_it_is) {
  for (unsigned root = 0; root < 5; ++root) {
    const SimulatedJob job({.seed = root,
                            .collectives = 1000,
                            .node_count = 5,
                            .ranks_per_node = 1,
                            .one_way = true,
                            .root = root});
    const Outcome outcome = recovered(job);
    EXPECT_TRUE(outcome.all_found) << root;
    EXPECT_LE(outcome.beyond_ns, 0.0) << root;
    CollectiveTable few({}, 100);  // most are let go on the way
    EXPECT_TRUE(outcome_of(job, few).all_found) << root;
  }
}

constexpr double six_hours = 6 * 3600;

TEST(Clocks, drifts_that_wander_for_six_hours_are_followed) {
  double largest_ns = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Outcome outcome = recovered(SimulatedJob({.seed = seed,
                                                    .collectives = 20000,
                                                    .ranks_per_node = 1,
                                                    .seconds = six_hours,
                                                    .wandering = true}));
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
    EXPECT_EQ(outcome.steps, 0U);
    EXPECT_GT(outcome.most_knots, 100U);  // one line would be a quarter of a second off
    largest_ns = std::max(largest_ns, outcome.worst_bound_ns);
  }
  EXPECT_LE(largest_ns, 300000.0);  // a collective each second, few of them short
  RecordProperty("largest_bound_ns", std::to_string(largest_ns));
}

TEST(Clocks, cycles_with_pauses_are_right_within_the_cycles) {
  double largest_ns = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Outcome outcome = recovered(SimulatedJob({.seed = seed,
                                                    .collectives = 12000,
                                                    .ranks_per_node = 1,
                                                    .seconds = six_hours,
                                                    .wandering = true,
                                                    .per_burst = 1000}));
    ASSERT_TRUE(outcome.all_found) << seed;
    ASSERT_LE(outcome.beyond_ns, 0.0) << seed;
    largest_ns = std::max(largest_ns, outcome.worst_bound_ns);
  }
  EXPECT_LE(largest_ns, 20000.0);
  RecordProperty("largest_bound_ns", std::to_string(largest_ns));
}

TEST(Clocks, a_clock_that_is_set_gets_a_border_there) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    SimulatedJob job({.seed = seed,
                      .collectives = 20000,
                      .ranks_per_node = 1,
                      .seconds = six_hours,
                      .wandering = true});
    const std::int64_t by_ns = seed % 2 == 0 ? 80'000'000 : -80'000'000;
    job.set_clock(3, by_ns);
    CollectiveTable table;
    job.fill(table);
    const auto solved = table.solve(job.spans());
    ASSERT_FALSE(solved.is_contradictory) << seed;
    const auto routes = clock_routes(job.spans(), solved.edges, {});
    for (std::size_t i = 1; i < routes.size(); ++i) {
      ASSERT_TRUE(routes[i]);
      ASSERT_LE(beyond_the_bound(job, i, *routes[i]), 0.0) << seed;
      EXPECT_LE(routes[i]->bound_ns, 300000.0);
      ASSERT_EQ(routes[i]->steps.size(), i == 3 ? 1U : 0U);
    }
    const ClockStep& step = routes[3]->steps.front();
    EXPECT_NEAR(step.by_ns, static_cast<double>(-by_ns), 1e6);
    EXPECT_LE(step.span.from_ns, job.nodes[3].at(job.nodes[3].set_at_ns - 1));
    EXPECT_GE(step.span.until_ns, job.nodes[3].at(job.nodes[3].set_at_ns));
    EXPECT_LE(step.span.until_ns - step.span.from_ns, 20'000'000'000);
  }
}

TEST(Clocks, a_reference_that_is_set_moves_all_others) {
  SimulatedJob job({.seed = 4, .collectives = 2000});
  job.set_clock(0, 80'000'000);
  const Outcome outcome = recovered(job);
  ASSERT_TRUE(outcome.all_found);
  EXPECT_LE(outcome.beyond_ns, 0.0);
  EXPECT_EQ(outcome.steps, 7U);
}

TEST(Clocks, a_clock_that_is_set_back_over_what_it_told_is_refused_and_named) {
  SimulatedJob job({.seed = 5, .collectives = 100000, .node_count = 4, .ranks_per_node = 1});
  job.set_clock(3, -80'000'000);  // a millisecond between collectives
  CollectiveTable table;
  job.fill(table);
  const CollectiveTable::Solved solved = table.solve(job.spans());
  ASSERT_TRUE(solved.is_contradictory);
  EXPECT_TRUE(solved.edges.empty());
  EXPECT_EQ(solved.own_node, 3U);
  EXPECT_EQ(solved.other_node, 0U);
  EXPECT_GT(solved.contradiction.by_ns, 70e6);
  EXPECT_LT(solved.contradiction.by_ns, 81e6);
  EXPECT_NE(solved.contradiction.lower, solved.contradiction.upper);
}

TEST(Clocks, collectives_that_belong_to_something_else_are_no_steps) {
  for (const std::int64_t every : {7, 3, 2}) {
    CollectiveTable table;
    for (std::uint32_t node = 0; node < 2; ++node) {
      for (std::int64_t i = 0; i < 200; ++i) {
        const std::int64_t wrong_ns = node == 1 && i % every == 0 ? 5'000'000'000 : 0;
        const std::int64_t begin_ns = simulation_start_ns + i * 1'000'000 + wrong_ns;
        table.add({7, static_cast<std::uint64_t>(i)},
                  {.start_ns = begin_ns, .end_ns = begin_ns + 20'000});
      }
      table.finish_node(node);
    }
    const ClockSpans span{{simulation_start_ns, simulation_start_ns + 6'000'000'000}};
    EXPECT_TRUE(table.solve({span, span}).is_contradictory) << every;
  }
}

TEST(Clocks, a_drift_beyond_the_limit_is_a_contradiction) {
  SimulatedJob job({.seed = 6, .collectives = 1000});
  job.nodes[2].drift = job.nodes[0].drift + 400e-6;
  CollectiveTable table;
  job.fill(table);
  EXPECT_TRUE(table.solve(job.spans()).is_contradictory);
  CollectiveTable wide({.drift = 500e-6});
  job.fill(wide);
  EXPECT_FALSE(wide.solve(job.spans()).is_contradictory);
}

// ntpd slews a clock at once by up to 500 ppm: more than may wander, and no line goes through it.
TEST(Clocks, a_slew_is_met_by_what_each_collective_says_alone) {
  CollectiveTable table;
  for (std::uint32_t node = 0; node < 2; ++node) {
    for (std::int64_t i = 0; i < 20000; ++i) {
      const std::int64_t begin_ns = i * 5'000'000;
      const std::int64_t slewed_ns =
          node == 0
              ? 0
              : std::clamp<std::int64_t>(begin_ns - 40'000'000'000, 0, 20'000'000'000) / 10000;
      const std::int64_t at = simulation_start_ns + begin_ns + slewed_ns;
      table.add({7, static_cast<std::uint64_t>(i)}, {.start_ns = at, .end_ns = at + 12'000});
    }
    table.finish_node(node);
  }
  const ClockSpans span{{simulation_start_ns, simulation_start_ns + 100'002'000'000}};
  const auto solved = table.solve({span, span});
  ASSERT_FALSE(solved.is_contradictory);
  const auto routes = clock_routes({span, span}, solved.edges, {});
  ASSERT_TRUE(routes[1]);
  EXPECT_LE(routes[1]->bound_ns, 5e6);
  for (std::int64_t at = 0; at < 100'000'000'000; at += 7'000'000) {
    const std::int64_t slewed_ns =
        std::clamp<std::int64_t>(at - 40'000'000'000, 0, 20'000'000'000) / 10000;
    const std::int64_t own = simulation_start_ns + at + slewed_ns;
    const auto error = static_cast<double>(
        std::abs(routes[1]->correction.corrected(own) - simulation_start_ns - at));
    ASSERT_LE(error, routes[1]->bound_ns) << at;
  }
}

TEST(Clocks, a_table_that_lets_collectives_go_still_tells_the_truth) {
  const SimulatedJob job({.seed = 7, .collectives = 4000});
  CollectiveTable small({}, 500);
  const Outcome outcome = outcome_of(job, small);
  EXPECT_LE(small.collectives(), 500U);
  EXPECT_GE(small.one_of(), 8U);
  EXPECT_TRUE(outcome.all_found);
  EXPECT_LE(outcome.beyond_ns, 0.0);
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

// Of a difference that never falls so steeply, a point on such a line says nothing more.
TEST(UpperHull, leaves_out_what_falls_more_steeply_than_asked_for) {
  UpperHull hull(2.0);
  for (const ClockPoint& point : {ClockPoint{0, 10}, {1, 7.9}, {2, 6}, {3, 3.9}, {4, 5}}) {
    hull.add(point);
  }
  std::vector<double> times_ns;
  for (const ClockPoint& corner : hull.corners()) times_ns.push_back(corner.t_ns);
  EXPECT_EQ(times_ns, (std::vector<double>{0, 4}));
  hull.add({5, 3});
  EXPECT_EQ(hull.corners().size(), 3U);
  hull.add({6, 0.9});
  EXPECT_EQ(hull.corners().size(), 3U);
}

}  // namespace
}  // namespace traceagent::tools
