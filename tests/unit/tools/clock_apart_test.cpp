#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>

#include "tools/clocks/clock_pair.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {
namespace {

constexpr std::int64_t t0 = 1'700'000'000'000'000'000;
constexpr std::int64_t pause_ns = 30'000'000'000;
constexpr std::int64_t loose_ns = 200'000;

// Two runs of two collectives, of equal clocks, and between them a pause that may hide a step. One
// of the two says what the difference is not below, the other one, `apart_ns` later, what it is not
// above, both within `room_ns`. Alone, a run does not know the drift between its two; together they
// do. So together the bound is near the room, and alone it is more by the drift over half of the
// time between the two.
std::optional<ClockRoute> route(std::int64_t room_ns, std::int64_t apart_ns) {
  CollectiveTable table;
  const std::int64_t starts_ns[] = {t0, t0 + apart_ns, t0 + pause_ns, t0 + pause_ns + apart_ns};
  for (std::uint32_t node = 0; node < 2; ++node) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      const bool is_lower = i % 2 == 0;
      const std::int64_t takes_ns = (node == 1) == is_lower ? room_ns : loose_ns;
      table.add({1, i}, {.start_ns = starts_ns[i], .end_ns = starts_ns[i] + takes_ns});
    }
    table.finish_node(node);
  }
  const ClockSpans whole{{t0, t0 + pause_ns + apart_ns}};
  return clock_routes({whole, whole}, table.solve({whole, whole}).edges, {})[1];
}

double alone_ns(std::int64_t room_ns, std::int64_t apart_ns) {
  return static_cast<double>(room_ns) + ClockLimits().drift * static_cast<double>(apart_ns) / 2;
}

void expect_taken_alone(std::int64_t room_ns, std::int64_t apart_ns) {
  const auto found = route(room_ns, apart_ns);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->bound_ns, alone_ns(room_ns, apart_ns), 700);  // as the pause bends it
  ASSERT_EQ(found->unsure.size(), 1U);
  EXPECT_GT(found->unsure[0].span.from_ns, t0 + apart_ns / 2);
  EXPECT_LT(found->unsure[0].span.until_ns, t0 + pause_ns + apart_ns / 2);
}

void expect_taken_together(std::int64_t room_ns, std::int64_t apart_ns) {
  const auto found = route(room_ns, apart_ns);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->bound_ns, static_cast<double>(room_ns), 700);
  ASSERT_EQ(found->unsure.size(), 1U);
  EXPECT_LT(found->unsure[0].span.from_ns, t0);
  EXPECT_GT(found->unsure[0].span.until_ns, t0 + pause_ns + apart_ns);
}

// 19 us, and a little more than 20.
TEST(ClockApart, runs_within_20_us_need_no_others) {
  expect_taken_alone(4000, 150'000'000);
  expect_taken_together(4000, 165'000'000);
}

// 1.23 and 1.26 times what they are within together.
TEST(ClockApart, runs_that_know_nearly_as_much_alone_need_no_others) {
  expect_taken_alone(40'000, 100'000'000);
  expect_taken_together(40'000, 110'000'000);
}

// Each a root's start and another's end, on either node.
void add_one_sided(ClockPair& pair, std::uint64_t number, std::int64_t at_ns, bool is_own_root) {
  const CollectiveTimes root{.start_ns = at_ns};
  const CollectiveTimes waits{.end_ns = at_ns + loose_ns};
  pair.add({1, number}, is_own_root ? root : waits, is_own_root ? waits : root);
}

// Apart no side of a pause has anything to go by, and together only one side of the difference.
TEST(ClockApart, one_sided_collectives_around_a_pause_stay_one_sided) {
  for (const bool is_own_root : {false, true}) {
    ClockPair pair{ClockLimits()};
    for (std::uint64_t i = 0; i < 3; ++i) {
      add_one_sided(pair, i, t0 + static_cast<std::int64_t>(i) * pause_ns, is_own_root);
    }
    EXPECT_EQ(pair.solve({t0, t0 + 3 * pause_ns}), ClockPair::Answer::one_sided);
  }
}

// Of roots on both nodes, that may lie one on each side of the pause: whatever is said, it is said.
TEST(ClockApart, few_one_sided_collectives_around_pauses_find_an_answer) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    ClockPair pair{ClockLimits()};
    std::int64_t at_ns = t0;
    const std::uint64_t count = 1 + random() % 6;
    bool has_root[2] = {false, false};
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_own_root = random() % 4 == 0;
      has_root[is_own_root ? 1 : 0] = true;
      add_one_sided(pair, i, at_ns, is_own_root);
      at_ns += random() % 2 == 0 ? pause_ns : 1'000'000;
    }
    const auto answer = pair.solve({t0, at_ns});
    const bool is_one_sided = !has_root[0] || !has_root[1];
    EXPECT_TRUE(!is_one_sided || answer == ClockPair::Answer::one_sided) << "round " << round;
  }
}

}  // namespace
}  // namespace traceagent::tools
