#include "tools/clocks/clock_report.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/trace/line_reader.hpp"
#include "tools/clocks/clock_words.hpp"

namespace traceagent::tools {
namespace {

std::string clocks_of(std::size_t node_count, std::size_t knot_count, std::size_t step_count) {
  std::vector<ClockNode> nodes(node_count);
  const std::vector<ClockNode> others;
  const std::vector<EdgeFacts> edges{{.method = "collectives", .collectives = 5}};
  ClockReport report;
  for (std::size_t i = 0; i < node_count; ++i) {
    nodes[i].name = "node " + std::to_string(i);
    for (std::int64_t rank = 0; rank < 8; ++rank) {
      nodes[i].ranks.insert(static_cast<std::int64_t>(i) * 8 + rank);
    }
    std::vector<trace::ClockKnot> knots;
    for (std::size_t k = 0; k < knot_count; ++k) {
      const auto second = static_cast<std::int64_t>(k);
      knots.push_back(
          {1'700'000'000'000'000'000 + second * 1'000'000'000, -4'000'000'000 + second});
    }
    ClockRoute route;
    route.correction = trace::ClockCorrection(knots);
    route.edges = {0};
    for (std::size_t k = 0; k < step_count; ++k) {
      route.steps.push_back({.span = {1'700'000'000'000'000'000, 1'700'000'001'000'000'000},
                             .by_ns = -80e6,
                             .bound_ns = 81e6});
      route.unsure.push_back({.span = {1'700'000'002'000'000'000, 1'700'000'003'000'000'000},
                              .by_ns = k == 0 ? std::numeric_limits<double>::infinity() : 4e6});
    }
    report.routes.emplace_back(route);
  }
  report.nodes = &nodes;
  report.others = &others;
  report.edges = &edges;
  return aligned(report).metadata.text();
}

TEST(ClockReport, tells_how_long_clocks_may_have_been_set_unseen) {
  const std::vector<ClockUnsure> unsure{{.span = {0, 2'000'000'000}, .by_ns = 3e6},
                                        {.span = {3'000'000'000, 4'500'000'000}, .by_ns = 7e6}};
  EXPECT_EQ(unsure_in_words({}), "");
  EXPECT_EQ(
      unsure_in_words(unsure),
      ", unsure for 3.5 s around pauses of the collectives, where a clock may have been set by "
      "up to 7 ms unseen");
  constexpr double any = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      unsure_in_words({unsure[0], {.span = {6'000'000'000, 6'500'000'000}, .by_ns = any}}),
      ", unsure for 2 s around pauses of the collectives, where a clock may have been set by up "
      "to 3 ms unseen, unsure for 500 ms before or behind all collectives or around pauses of "
      "them, where a clock may have been set by any amount unseen");
}

TEST(ClockReport, lists_the_knots_and_steps_of_a_few_nodes) {
  const std::string text = clocks_of(3, 1000, 2);
  EXPECT_NE(text.find("\"knots\""), std::string::npos);
  EXPECT_NE(text.find("\"from_ns\""), std::string::npos);
  EXPECT_NE(text.find("\"unsure\""), std::string::npos) << text.substr(0, 2000);
  EXPECT_NE(text.find("null"), std::string::npos);
  EXPECT_EQ(text.find("left_out"), std::string::npos);
}

TEST(ClockReport, of_many_nodes_over_hours_is_a_line_that_readers_take) {
  for (const std::size_t nodes : {30U, 100U, 1000U}) {
    const std::string text = clocks_of(nodes, 1000, 16);
    EXPECT_LT(text.size(), trace::LineReader::max_line_bytes) << nodes;
    EXPECT_NE(text.find("\"pieces\""), std::string::npos);
  }
  EXPECT_NE(clocks_of(1000, 1000, 16).find("\"steps_left_out\""), std::string::npos);
}

}  // namespace
}  // namespace traceagent::tools
