#include "tools/clocks/clock_agreement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace traceagent::tools {
namespace {

constexpr std::int64_t begin_ns = 1'700'000'000'000'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr double bound_ns = 100'000;

BarrierMark mark(double at_s, const std::string& batch) {
  return {0, begin_ns + static_cast<std::int64_t>(at_s * second_ns), 100'000, 0, batch};
}

ClockDifference apart(double by_s) {
  return ClockDifference({{.at_ns = begin_ns, .offset_ns = by_s * second_ns, .bound_ns = bound_ns}},
                         {});
}

// Three nodes, whose routes take so much off.
class ClockAgreement : public testing::Test {
 protected:
  ClockAgreement() : nodes(3), routes(3) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      nodes[i].name = "rank " + std::to_string(i);
      nodes[i].spans = {{begin_ns, begin_ns + 20 * second_ns}};
      set(i, 0);
    }
  }
  void set(std::uint32_t node, double by_s) {
    ClockRoute route;
    route.correction = apart(by_s).correction();
    route.bound_ns = node == 0 ? 0 : bound_ns;
    if (node != 0) route.edges = {node - 1};
    routes[node] = route;
  }

  std::vector<ClockNode> nodes;
  std::vector<ClockEdge> edges = {{.from = 1, .to = 0, .difference = apart(0)},
                                  {.from = 2, .to = 0, .difference = apart(0)}};
  ClockRoutes routes;
  Disagreement found;
};

TEST_F(ClockAgreement, AMarkThatLiesElsewhereIsDenied) {
  set(2, -5);
  const std::vector<BarrierClock> clocks = {
      {0, PassedBarriers({mark(0, "[0, 0]"), mark(9, "[0, 9]")})},
      {1, PassedBarriers({mark(0, "[0, 0]")})},
      {2, PassedBarriers({mark(5, "[0, 0]"), mark(14, "[0, 9]")})}};
  check_barriers(clocks, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "");
  std::vector<BarrierClock> wrong = clocks;
  wrong[2].barriers = PassedBarriers({mark(5, "[0, 0]"), mark(15, "[0, 9]")});
  check_barriers(wrong, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{0, 2})) << "nobody says whose it is";
  found = {};
  wrong[1].barriers = PassedBarriers({mark(0, "[0, 0]"), mark(9, "[0, 9]")});
  check_barriers(wrong, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, std::set<std::uint32_t>{2}) << "two say the same";
  EXPECT_NE(found.reason.find("rank 0 and rank 2"), std::string::npos) << found.reason;
  EXPECT_NE(found.reason.find("[0, 9]"), std::string::npos) << found.reason;
}

TEST_F(ClockAgreement, OfTwoOthersBothAreDenied) {
  const std::vector<BarrierClock> clocks = {{1, PassedBarriers({mark(0, "[0, 0]")})},
                                            {2, PassedBarriers({mark(1, "[0, 0]")})}};
  check_barriers(clocks, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{1, 2}));
}

TEST_F(ClockAgreement, ABarrierOfAnotherRunDeniesNothing) {
  const std::vector<BarrierClock> clocks = {
      {0, PassedBarriers({mark(0, "[0, 0]"), mark(9, "[0, 0]")})},
      {1, PassedBarriers({mark(9, "[0, 0]")})},
      {2, PassedBarriers({mark(4, "[0, 4]")})}};
  check_barriers(clocks, 2, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "");
  const std::vector<BarrierClock> neither = {{1, PassedBarriers({mark(0, "[0, 0]")})},
                                             {2, PassedBarriers({mark(9, "[0, 0]")})}};
  check_barriers(neither, 2, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "") << "they may be of two runs";
  check_barriers({clocks[0], {1, PassedBarriers({mark(8, "[0, 0]")})}}, 2, nodes, edges, routes,
                 found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{0, 1})) << "all its times are known";
}

TEST_F(ClockAgreement, CollectivesThatWereNotUsedAreComparedToo) {
  check_differences("the collectives", {{.from = 1, .to = 2, .difference = apart(0)}}, nodes, edges,
                    routes, found);
  EXPECT_EQ(found.reason, "");
  const std::vector<ClockEdge> apart_by_one = {{.from = 1, .to = 2, .difference = apart(1)}};
  nodes[1].earlier_bound_ns.reset();
  check_differences("the collectives", apart_by_one, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "") << "nobody knows how far off its times are";
  nodes[1].earlier_bound_ns = 0;
  nodes[2].spans = {{begin_ns + 60 * second_ns, begin_ns + 70 * second_ns}};
  check_differences("the collectives", apart_by_one, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "") << "it has no times there";
  nodes[2].spans = nodes[1].spans;
  check_differences("the collectives", apart_by_one, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{1, 2}));
}

TEST_F(ClockAgreement, OfAKnownNodeAndAStrangerItIsTheStranger) {
  nodes[1].is_of_known_node = true;
  check_differences("the collectives", {{.from = 1, .to = 2, .difference = apart(1)}}, nodes, edges,
                    routes, found);
  EXPECT_EQ(found.nodes, std::set<std::uint32_t>{2});
}

TEST_F(ClockAgreement, WhoseCollectivesAreImpossibleIsNotKnownByBarriersEither) {
  check_contradictory({{1, 2}}, {}, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{1, 2}));
  found = {};
  check_contradictory({{1, 0}}, {}, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{0, 1})) << "nobody says whose it is";
  found = {};
  check_contradictory({{1, 0}}, {edges[1]}, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, std::set<std::uint32_t>{1}) << "the third says the same as the first";
  found = {};
  routes[1].reset();
  check_contradictory({{1, 2}}, {}, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "") << "nothing is said of it";
}

TEST_F(ClockAgreement, AMarkIsAskedAsFarAsItsTimeIsSure) {
  const std::vector<BarrierClock> clocks = {
      {0, PassedBarriers({mark(0, "[0, 0]")})},
      {1, PassedBarriers({mark(1, "[0, 0]")})},
  };
  routes[1]->unsure = {{{begin_ns, begin_ns + 2 * second_ns}, 2.0 * second_ns}};
  check_barriers(clocks, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.reason, "");
  routes[1]->unsure[0].by_ns = 0.5 * second_ns;
  check_barriers(clocks, 1, nodes, edges, routes, found);
  EXPECT_NE(found.reason, "") << "it is not that unsure";
}

TEST_F(ClockAgreement, WhoCannotTellIsNotAsked) {
  const std::vector<BarrierClock> clocks = {{0, PassedBarriers({mark(0, "[0, 0]")})},
                                            {1, PassedBarriers({mark(0, "[0, 0]")})},
                                            {2, PassedBarriers({mark(1, "[0, 0]")})}};
  routes[0]->unsure = {{{begin_ns, begin_ns + second_ns}, std::numeric_limits<double>::infinity()}};
  check_barriers(clocks, 1, nodes, edges, routes, found);
  EXPECT_EQ(found.nodes, (std::set<std::uint32_t>{1, 2}));
}

TEST_F(ClockAgreement, WhatLiesBetweenBeginMiddleAndEndIsSeen) {
  // There and back within a quarter of the time.
  const ClockDifference there_and_back(
      {{.at_ns = begin_ns, .offset_ns = 0, .bound_ns = bound_ns},
       {.at_ns = begin_ns + second_ns, .offset_ns = 0, .bound_ns = bound_ns},
       {.at_ns = begin_ns + 2 * second_ns, .offset_ns = 3'000'000, .bound_ns = bound_ns},
       {.at_ns = begin_ns + 3 * second_ns, .offset_ns = 0, .bound_ns = bound_ns},
       {.at_ns = begin_ns + 10 * second_ns, .offset_ns = 0, .bound_ns = bound_ns}},
      {});
  const ClockDifference straight(
      {{.at_ns = begin_ns, .offset_ns = 0, .bound_ns = bound_ns},
       {.at_ns = begin_ns + 10 * second_ns, .offset_ns = 0, .bound_ns = bound_ns}},
      {});
  EXPECT_TRUE(deny_each_other({.from = 1, .to = 0, .difference = straight},
                              {.from = 1, .to = 0, .difference = there_and_back}, nodes));
}

TEST_F(ClockAgreement, TwoEdgesDenyEachOtherInWhateverDirection) {
  const ClockEdge barrier{.from = 1, .to = 2, .difference = apart(3)};
  EXPECT_FALSE(deny_each_other(barrier, {.from = 2, .to = 1, .difference = apart(-3)}, nodes));
  EXPECT_TRUE(deny_each_other(barrier, {.from = 2, .to = 1, .difference = apart(3)}, nodes));
  EXPECT_TRUE(deny_each_other(barrier, {.from = 1, .to = 2, .difference = apart(2)}, nodes));
  EXPECT_FALSE(deny_each_other(barrier, {.from = 0, .to = 2, .difference = apart(2)}, nodes));
}

TEST_F(ClockAgreement, WhatWasFoundThroughItIsTakenBackToo) {
  const std::vector<ClockEdge> ways = {{.from = 1, .to = 0, .difference = apart(0)},
                                       {.from = 2, .to = 1, .difference = apart(0)}};
  routes[2]->edges = {1, 0};
  take_back({1}, ways, routes);
  EXPECT_TRUE(routes[0]);
  EXPECT_FALSE(routes[1]);
  EXPECT_FALSE(routes[2]);
}

}  // namespace
}  // namespace traceagent::tools
