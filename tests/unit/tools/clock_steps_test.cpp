#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/unit/tools/simulated_clocks.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t ms_ns = 1'000'000;

// Both at true times since the start; node 0 comes last, and `takes_ns` later all have ended.
struct Collective {
  std::int64_t start_ns = 0;
  std::int64_t waits_ns = 0;
  bool is_from_first = false;  // a broadcast by node 0: says only what the difference is at least
};

// Two nodes, whose clocks are off by any function of the time.
struct TwoClocks {
  using Clock = std::function<std::int64_t(std::int64_t)>;
  Clock first_off = [](std::int64_t) { return 0; };
  Clock own_off = [](std::int64_t) { return 0; };
  std::int64_t takes_ns = 12'000;
  std::int64_t goes_on_ns = second_ns / 2;  // from the last collective's start to the last event
  std::vector<Collective> collectives;

  [[nodiscard]] std::int64_t first(std::int64_t at) const {
    return simulation_start_ns + at + first_off(at);
  }
  [[nodiscard]] std::int64_t own(std::int64_t at) const {
    return simulation_start_ns + at + own_off(at);
  }
  void add_every(std::int64_t every_ns, std::int64_t from_ns, std::int64_t until_ns,
                 bool is_from_first = false) {
    for (std::int64_t at = from_ns; at < until_ns; at += every_ns) {
      collectives.push_back({.start_ns = at, .is_from_first = is_from_first});
    }
  }

  [[nodiscard]] std::vector<ClockSpans> spans() const {
    const std::int64_t end_ns = collectives.back().start_ns + goes_on_ns;
    return {{{first(0), first(end_ns)}}, {{own(0), own(end_ns)}}};
  }
  [[nodiscard]] CollectiveTable::Solved solved() const {
    CollectiveTable table;
    for (std::uint32_t node = 0; node < 2; ++node) {
      for (std::size_t i = 0; i < collectives.size(); ++i) {
        const Collective& each = collectives[i];
        const std::int64_t last_ns = each.start_ns + each.waits_ns;
        CollectiveTimes times{
            .start_ns = node == 0 ? first(last_ns) : own(each.start_ns),
            .end_ns = node == 0 ? first(last_ns + takes_ns) : own(last_ns + takes_ns)};
        if (each.is_from_first && node == 0) times.end_ns = CollectiveTimes::no_end;
        if (each.is_from_first && node == 1) times.start_ns = CollectiveTimes::no_start;
        table.add({7, i}, times);
      }
      table.finish_node(node);
    }
    return table.solve(spans());
  }
  [[nodiscard]] std::optional<ClockRoute> route() const {
    const auto solution = solved();
    EXPECT_FALSE(solution.is_contradictory);
    return clock_routes(spans(), solution.edges, {})[1];
  }
};

TwoClocks::Clock set_by(std::int64_t by_ns, std::int64_t when_ns) {
  return [=](std::int64_t at) { return at >= when_ns ? by_ns : 0; };
}

// How far any time is off beyond what is said of it; 0 or less is right.
double beyond(const TwoClocks& clocks, const ClockRoute& route, std::int64_t from_ns,
              std::int64_t until_ns, std::int64_t every_ns) {
  double worst = -1e18;
  for (std::int64_t at = from_ns; at < until_ns; at += every_ns) {
    const std::int64_t own = clocks.own(at);
    double bound_ns = route.bound_ns;
    for (const ClockStep& step : route.steps) {
      if (step.span.from_ns <= own && own <= step.span.until_ns) {
        bound_ns = std::max(bound_ns, step.bound_ns);
      }
    }
    const auto error =
        static_cast<double>(std::abs(route.correction.corrected(own) - clocks.first(at)));
    worst = std::max(worst, error - bound_ns);
  }
  return worst;
}

TEST(ClockSteps, before_which_one_side_alone_is_known_are_refused) {
  TwoClocks clocks;
  clocks.own_off = set_by(80 * ms_ns, 10 * second_ns - ms_ns);
  clocks.add_every(second_ns, 0, 10 * second_ns, true);
  clocks.add_every(second_ns / 10, 10 * second_ns, 60 * second_ns);
  const auto solved = clocks.solved();
  EXPECT_TRUE(solved.is_contradictory);
  EXPECT_NEAR(solved.contradiction.by_ns, 80e6, 2e6);
}

TEST(ClockSteps, behind_a_one_sided_run_leave_what_was_before_them_within_the_bound) {
  TwoClocks clocks;
  clocks.own_off = [](std::int64_t at) {
    return at / 20'000 + (at >= 330 * second_ns ? 80 * ms_ns : 0);
  };
  clocks.add_every(second_ns / 100, 0, 20 * second_ns);
  clocks.add_every(second_ns / 10, 300 * second_ns, 330 * second_ns, true);
  clocks.add_every(second_ns / 100, 330 * second_ns, 350 * second_ns);
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  ASSERT_EQ(route->steps.size(), 1U);
  EXPECT_LE(beyond(clocks, *route, 0, 350 * second_ns, 50 * ms_ns), 0.0);
}

TEST(ClockSteps, of_any_kind_hold_their_bound_around_them) {
  for (const std::int64_t by_ns : {600 * ms_ns, -600 * ms_ns, 80 * ms_ns, -80 * ms_ns}) {
    for (const int way : {0, 1, 2, 3}) {
      TwoClocks clocks;
      clocks.add_every(second_ns, 0, 100 * second_ns);
      const std::int64_t when_ns = 50 * second_ns + (way % 2 == 0 ? 50 : 950) * ms_ns;
      (way < 2 ? clocks.first_off : clocks.own_off) = set_by(by_ns, when_ns);
      const auto route = clocks.route();
      ASSERT_TRUE(route);
      EXPECT_EQ(route->steps.size(), 1U);
      EXPECT_LE(beyond(clocks, *route, 0, 100 * second_ns, ms_ns / 2), 0.0) << by_ns << " " << way;
      EXPECT_LE(route->bound_ns, 200e3);
    }
  }
}

TEST(ClockSteps, of_the_clock_that_others_are_brought_to_hold_their_bound_too) {
  for (const int way : {0, 1, 2, 3}) {
    TwoClocks clocks;
    clocks.add_every(second_ns, 0, 100 * second_ns);
    const std::int64_t by_ns = way < 2 ? 600 * ms_ns : -600 * ms_ns;
    // Of both sides of the edge, either may be the one that was set.
    (way % 2 == 0 ? clocks.first_off : clocks.own_off) = set_by(by_ns, 50 * second_ns + 50 * ms_ns);
    const auto solved = clocks.solved();
    ASSERT_EQ(solved.edges.size(), 1U);
    // The other way round: from node 0's clock to node 1's.
    const ClockDifference back = solved.edges[0].difference.inverse();
    ASSERT_EQ(back.steps.size(), 1U);
    const ClockStep& step = back.steps.front();
    const double bound_ns = back.bound_ns({clocks.first(0), clocks.first(40 * second_ns)});
    for (std::int64_t at = 0; at < 100 * second_ns; at += ms_ns) {
      const std::int64_t from = clocks.first(at);
      const bool is_in = step.span.from_ns <= from && from <= step.span.until_ns;
      ASSERT_LE(std::abs(back.correction().corrected(from) - clocks.own(at)),
                is_in ? step.bound_ns : bound_ns)
          << at;
    }
  }
}

TEST(ClockSteps, while_a_collective_is_in_flight_end_with_it) {
  for (const std::int64_t by_ns : {80 * ms_ns, -80 * ms_ns}) {
    TwoClocks clocks;
    clocks.add_every(second_ns, 0, 50 * second_ns);
    clocks.collectives.push_back({.start_ns = 50 * second_ns, .waits_ns = 900 * ms_ns});
    clocks.add_every(second_ns, 51 * second_ns, 100 * second_ns);
    clocks.own_off = set_by(by_ns, 50 * second_ns + 500 * ms_ns);
    const auto route = clocks.route();
    ASSERT_TRUE(route);
    EXPECT_LE(beyond(clocks, *route, 0, 100 * second_ns, ms_ns), 0.0) << by_ns;
  }
}

TEST(ClockSteps, during_a_pause_of_the_collectives_are_told) {
  for (const std::int64_t by_ns : {50 * ms_ns, -50 * ms_ns}) {
    TwoClocks clocks;
    clocks.add_every(10 * ms_ns, 0, 20 * second_ns);
    clocks.add_every(10 * ms_ns, 320 * second_ns, 340 * second_ns);
    clocks.own_off = set_by(by_ns, 100 * second_ns);
    const auto route = clocks.route();
    ASSERT_TRUE(route);
    ASSERT_EQ(route->steps.size(), 1U);
    EXPECT_NEAR(route->steps[0].by_ns, static_cast<double>(-by_ns), 1e5);
    EXPECT_LE(beyond(clocks, *route, 0, 340 * second_ns, 7 * ms_ns), 0.0) << by_ns;
  }
}

TEST(ClockSteps, a_pause_in_which_nothing_was_set_is_none) {
  TwoClocks clocks;
  clocks.add_every(10 * ms_ns, 0, 20 * second_ns);
  clocks.add_every(10 * ms_ns, 320 * second_ns, 340 * second_ns);
  clocks.own_off = [](std::int64_t at) { return at / 20'000; };
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->steps.empty());
  EXPECT_LE(route->bound_ns, 100e3);
  EXPECT_LE(beyond(clocks, *route, 0, 340 * second_ns, 7 * ms_ns), 0.0);
}

// The clocks of three nodes, each to the next, of which the first hop's was set.
TEST(ClockSteps, on_a_way_of_several_edges_have_the_bounds_of_all_of_them) {
  const ClockLimits limits;
  const std::int64_t t0 = simulation_start_ns;
  ClockDifference near({{.at_ns = t0, .bound_ns = 7000}}, limits);
  ClockDifference far({{.at_ns = t0, .bound_ns = 5000}}, limits);
  far.steps.push_back(
      {.span = {t0 + 10 * second_ns, t0 + 11 * second_ns}, .by_ns = 1e6, .bound_ns = 1.1e6});
  const ClockSpans spans{{t0, t0 + second_ns}};
  for (const bool is_last : {false, true}) {
    const auto routes = clock_routes({spans, spans, spans},
                                     {{.from = 2, .to = 1, .difference = is_last ? near : far},
                                      {.from = 1, .to = 0, .difference = is_last ? far : near}},
                                     limits);
    ASSERT_TRUE(routes[2]);
    ASSERT_EQ(routes[2]->steps.size(), 1U);
    const ClockStep& step = routes[2]->steps[0];
    EXPECT_GE(step.bound_ns, 1.1e6 + 7000 + 10 * 200e3);  // an edge of one knot drifts for 10 s
    if (is_last) {
      EXPECT_LE(step.span.from_ns, t0 + 10 * second_ns - 7000);
      EXPECT_GE(step.span.until_ns, t0 + 11 * second_ns + 7000);
    }
  }
}

TEST(ClockSteps, clocks_that_wander_faster_are_followed_faster) {
  TwoClocks clocks;
  clocks.add_every(20 * ms_ns, 0, 400 * second_ns);
  clocks.own_off = [](std::int64_t at) {
    const double seconds = static_cast<double>(at) * 1e-9;
    return std::llround(2e-8 * seconds * seconds / 2 * 1e9);
  };
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_GT(route->wander_per_second, 1.2e-8);
  EXPECT_LE(beyond(clocks, *route, 0, 400 * second_ns, 7 * ms_ns), 0.0);
}

// A node without a battery. A double tells such times to 256 ns only.
TEST(ClockSteps, a_clock_that_shows_1970_is_as_far_off_as_is_said) {
  TwoClocks clocks;
  clocks.takes_ns = 20;
  clocks.add_every(second_ns, 0, 20 * second_ns);
  for (std::int64_t off_ns = 1; off_ns < 1000; off_ns += 37) {
    clocks.own_off = [=](std::int64_t) { return off_ns - simulation_start_ns; };
    const auto route = clocks.route();
    ASSERT_TRUE(route);
    EXPECT_LE(beyond(clocks, *route, 0, 19 * second_ns, second_ns), 0.0) << off_ns;
  }
}

// 80 ms over 1,000 s: what the drift alone explains, as nothing is known of it.
TEST(ClockSteps, that_may_hide_in_a_pause_make_it_unsure) {
  TwoClocks clocks;
  clocks.goes_on_ns = clocks.takes_ns;
  clocks.add_every(10 * ms_ns, 0, 100 * ms_ns);
  clocks.add_every(10 * ms_ns, 1000 * second_ns, 1000 * second_ns + 100 * ms_ns);
  clocks.own_off = set_by(80 * ms_ns, 400 * second_ns);
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->steps.empty());
  ASSERT_EQ(route->unsure.size(), 1U);
  EXPECT_LE(route->unsure[0].span.from_ns, clocks.own(400 * second_ns));
  EXPECT_GE(route->unsure[0].span.until_ns, clocks.own(400 * second_ns - 1));
  EXPECT_GE(route->unsure[0].by_ns, 80e6);
  EXPECT_LE(route->unsure[0].by_ns, 420e6);
  EXPECT_LE(beyond(clocks, *route, 0, 100 * ms_ns, ms_ns), 0.0);
  EXPECT_LE(beyond(clocks, *route, 1000 * second_ns, 1000 * second_ns + 90 * ms_ns, ms_ns), 0.0);
}

// What lies before knows enough without it, and is not unsure because of it.
TEST(ClockSteps, that_may_hide_before_the_last_collective_make_the_end_alone_unsure) {
  for (const std::int64_t by_ns : {0 * ms_ns, 2 * ms_ns}) {
    TwoClocks clocks;
    clocks.own_off = set_by(by_ns, 105 * second_ns);
    clocks.add_every(second_ns / 10, 0, 100 * second_ns);
    clocks.collectives.push_back({.start_ns = 110 * second_ns, .waits_ns = 3 * ms_ns});
    const auto route = clocks.route();
    ASSERT_TRUE(route);
    EXPECT_TRUE(route->steps.empty());
    EXPECT_LE(route->bound_ns, 40e3);
    ASSERT_EQ(route->unsure.size(), 1U);
    EXPECT_GE(route->unsure[0].span.from_ns, clocks.own(99 * second_ns));
    EXPECT_LE(route->unsure[0].span.from_ns, clocks.own(105 * second_ns));
    EXPECT_GE(route->unsure[0].span.until_ns, clocks.own(110 * second_ns));
    EXPECT_LE(beyond(clocks, *route, 0, 99 * second_ns, ms_ns), 0.0);
  }
}

// Between two of the last collectives alone the drift could explain it; what lies before each pause
// in which none may hide says that it does not.
TEST(ClockSteps, that_would_show_by_what_lies_behind_other_pauses_leave_nothing_unsure) {
  TwoClocks clocks;
  clocks.goes_on_ns = clocks.takes_ns;
  clocks.add_every(second_ns / 10, 0, 20 * second_ns);
  clocks.add_every(6 * second_ns, 20 * second_ns, 60 * second_ns);
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->unsure.empty()) << route->unsure.size();
}

TEST(ClockSteps, that_would_show_leave_nothing_unsure) {
  TwoClocks clocks;
  clocks.goes_on_ns = clocks.takes_ns;
  clocks.add_every(10 * ms_ns, 0, 20 * second_ns);
  clocks.add_every(10 * ms_ns, 50 * second_ns, 70 * second_ns);
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_TRUE(route->unsure.empty());
}

bool is_unsure(const ClockRoute& route, std::int64_t own_ns) {
  return std::any_of(route.unsure.begin(), route.unsure.end(), [own_ns](const auto& each) {
    return each.span.from_ns <= own_ns && own_ns <= each.span.until_ns;
  });
}

TEST(ClockSteps, before_the_first_collective_or_behind_the_last_are_unsure) {
  constexpr std::int64_t first_ns = 10 * second_ns;
  constexpr std::int64_t last_ns = 20 * second_ns;
  for (const std::int64_t by_ns : {80 * ms_ns, -80 * ms_ns}) {
    for (const std::int64_t when_ns : {first_ns / 2, last_ns + 200 * ms_ns}) {
      TwoClocks clocks;
      clocks.own_off = set_by(by_ns, when_ns);
      clocks.add_every(second_ns / 10, first_ns, last_ns + 1);
      const auto route = clocks.route();
      ASSERT_TRUE(route);
      EXPECT_TRUE(route->steps.empty());
      for (const std::int64_t at : {std::int64_t{0}, first_ns - ms_ns, last_ns + ms_ns}) {
        EXPECT_TRUE(is_unsure(*route, clocks.own(at))) << at;
      }
      for (const ClockUnsure& each : route->unsure) {
        EXPECT_TRUE(std::isinf(each.by_ns));
      }
      EXPECT_FALSE(is_unsure(*route, clocks.own(first_ns + ms_ns)));
      EXPECT_FALSE(is_unsure(*route, clocks.own(last_ns - ms_ns)));
      EXPECT_LE(beyond(clocks, *route, first_ns, last_ns, 7 * ms_ns), 0.0);
    }
  }
}

// The collectives tell the same as if nobody had set it: nobody can see it.
TEST(ClockSteps, there_and_back_between_two_collectives_leave_no_trace) {
  const auto found = [](const TwoClocks::Clock& own_off) {
    TwoClocks clocks;
    clocks.own_off = own_off;
    clocks.add_every(second_ns, 0, 100 * second_ns);
    return clocks.route();
  };
  constexpr std::int64_t from_ns = 50 * second_ns + 300 * ms_ns;
  constexpr std::int64_t until_ns = from_ns + 400 * ms_ns;
  const auto set =
      found([](std::int64_t at) { return at >= from_ns && at < until_ns ? 80 * ms_ns : 0; });
  const auto never = found([](std::int64_t) { return 0; });
  ASSERT_TRUE(set && never);
  EXPECT_EQ(set->correction.knots(), never->correction.knots());
  EXPECT_EQ(set->bound_ns, never->bound_ns);
  EXPECT_TRUE(set->steps.empty());
}

// What it told twice lies among the times of collectives; that it was set is not known.
TEST(ClockSteps, back_behind_the_last_collective_are_unsure_but_not_what_was_told_before) {
  TwoClocks clocks;
  constexpr std::int64_t last_ns = 20 * second_ns;
  constexpr std::int64_t when_ns = last_ns + 200 * ms_ns;
  clocks.own_off = set_by(-1000 * ms_ns, when_ns);
  clocks.goes_on_ns = 200 * ms_ns - 1;  // so that the node's events end where it was set
  clocks.add_every(second_ns / 10, 0, last_ns + 1);
  const auto route = clocks.route();
  ASSERT_TRUE(route);
  EXPECT_TRUE(is_unsure(*route, clocks.own(when_ns - 1)));
  EXPECT_FALSE(is_unsure(*route, clocks.own(when_ns)));
  EXPECT_GT(beyond(clocks, *route, when_ns, when_ns + ms_ns, ms_ns), 900e6);
}

TEST(ClockSteps, that_may_hide_where_a_node_has_no_events_are_not_told) {
  ClockDifference difference({{.at_ns = 0}}, {});
  difference.unsure = {{.span = {second_ns, 5 * second_ns}, .by_ns = 1e6},
                       {.span = {4 * second_ns, 6 * second_ns}, .by_ns = 2e6},
                       {.span = {50 * second_ns, 60 * second_ns}, .by_ns = 3e6}};
  const ClockSpans spans{{0, 2 * second_ns}, {5 * second_ns + ms_ns, 8 * second_ns}};
  const auto route =
      clock_routes({spans, spans}, {{.from = 1, .to = 0, .difference = difference}}, {})[1];
  ASSERT_TRUE(route);
  ASSERT_EQ(route->unsure.size(), 1U);
  EXPECT_EQ(route->unsure[0].span.from_ns, second_ns);
  EXPECT_EQ(route->unsure[0].span.until_ns, 6 * second_ns);
  EXPECT_EQ(route->unsure[0].by_ns, 2e6);
}

// Three tenths of the way the nearer knot is the one with the larger bound.
TEST(ClockSteps, kinked_pieces_drift_from_the_larger_bound) {
  const ClockDifference kinked(
      {{.at_ns = 0, .bound_ns = 1000, .is_kinked = true}, {.at_ns = 10 * second_ns, .bound_ns = 0}},
      {});
  EXPECT_GE(kinked.bound_ns({3 * second_ns - 1000, 3 * second_ns}), 601'000.0);
}

}  // namespace
}  // namespace traceagent::tools
