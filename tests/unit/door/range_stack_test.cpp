#include "agent/door/range_stack.hpp"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

constexpr std::size_t deepest = 63;
const int domain_a = 0;
const int domain_b = 0;
// They stand for the names of steps, to tell the ranges apart.
constexpr step::StepName outer = 1, inner = 2;
constexpr step::StepName a1 = 3, a2 = 4, b1 = 5, default_range = 6, request = 7;

TEST(RangeStack, PopsTheInnermost) {
  RangeStack stack{};
  stack.push(nullptr)->step_name = outer;
  stack.push(nullptr)->step_name = inner;
  OpenRange popped;
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_EQ(popped.step_name, inner);
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_EQ(popped.step_name, outer);
  EXPECT_FALSE(stack.pop(nullptr, popped)) << "it began before us";
}

TEST(RangeStack, DomainsHaveStacksOfTheirOwn) {
  RangeStack stack{};
  stack.push(&domain_a)->step_name = a1;
  stack.push(&domain_b)->step_name = b1;
  stack.push(&domain_a)->step_name = a2;
  stack.push(nullptr)->step_name = default_range;
  OpenRange popped;
  ASSERT_TRUE(stack.pop(&domain_b, popped));
  EXPECT_EQ(popped.step_name, b1);
  EXPECT_FALSE(stack.pop(&domain_b, popped));
  ASSERT_TRUE(stack.pop(&domain_a, popped));
  EXPECT_EQ(popped.step_name, a2);
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_EQ(popped.step_name, default_range);
  ASSERT_TRUE(stack.pop(&domain_a, popped));
  EXPECT_EQ(popped.step_name, a1);
}

TEST(RangeStack, TooDeepOnesArePoppedUnfollowed) {
  RangeStack stack{};
  for (std::size_t i = 0; i < deepest; ++i) {
    OpenRange* range = stack.push(nullptr);
    ASSERT_NE(range, nullptr);
    range->step_name = static_cast<step::StepName>(i);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stack.push(nullptr), nullptr);
  OpenRange popped;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(stack.pop(nullptr, popped));
  for (std::size_t i = deepest; i-- > 0;) {
    ASSERT_TRUE(stack.pop(nullptr, popped));
    EXPECT_EQ(popped.step_name, i);
  }
}

TEST(RangeStack, EachThreadHasItsOwn) {
  RangeStack* mine = RangeStack::of_this_thread();
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(RangeStack::of_this_thread(), mine);
  RangeStack* others = nullptr;
  std::thread([&] {
    others = RangeStack::of_this_thread();
    EXPECT_NE(others->push(nullptr), nullptr);
  }).join();
  EXPECT_NE(others, mine);
  OpenRange popped;
  EXPECT_FALSE(mine->pop(nullptr, popped));
}

TEST(RangeStack, CountsUnheardOnesWithinTheLastOfTheirDomain) {
  RangeStack stack{};
  EXPECT_FALSE(stack.pop_unheard(nullptr)) << "there is none";
  stack.push(&domain_a)->step_name = 1;
  stack.push(nullptr)->step_name = 2;
  EXPECT_FALSE(stack.pop_unheard(nullptr)) << "it is a step";
  EXPECT_FALSE(stack.push_unheard(&domain_a)) << "within another domain's";
  for (int deep = 1; deep <= 5; ++deep) {
    for (int i = 0; i < deep; ++i) EXPECT_TRUE(stack.push_unheard(nullptr));
    for (int i = 0; i < deep; ++i) EXPECT_TRUE(stack.pop_unheard(nullptr)) << i << " of " << deep;
    EXPECT_FALSE(stack.pop_unheard(nullptr)) << deep;
  }
  stack.push_unheard(nullptr);
  EXPECT_FALSE(stack.pop_unheard(&domain_a));
  OpenRange popped;
  ASSERT_TRUE(stack.pop(&domain_a, popped));
  EXPECT_EQ(popped.step_name, 1u);
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_TRUE(popped.is_unheard()) << "the one within";
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_EQ(popped.step_name, 2u);
  EXPECT_FALSE(stack.pop(nullptr, popped));
}

TEST(RangeStack, HasNoPlaceForAnUnheardOneOutsideOfAll) {
  RangeStack stack{};
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(stack.push_unheard(i % 2 == 0 ? nullptr : &domain_a));
  EXPECT_FALSE(stack.pop_unheard(nullptr));
  OpenRange popped;
  EXPECT_FALSE(stack.pop(nullptr, popped));
  EXPECT_FALSE(stack.is_too_deep());
}

TEST(RangeStack, KeepsWhatHasBeenHeardAlone) {
  RangeStack stack{};
  OpenRange popped;
  stack.push(nullptr);
  stack.keep_if_heard();
  EXPECT_FALSE(stack.pop(nullptr, popped)) << "outside of all";
  stack.push(nullptr)->step_name = 1;
  stack.keep_if_heard();
  stack.push(nullptr);
  stack.keep_if_heard();
  EXPECT_TRUE(stack.pop_unheard(nullptr)) << "counted within the step";
  stack.push(&domain_a);
  stack.keep_if_heard();
  EXPECT_FALSE(stack.pop_unheard(&domain_a)) << "it has a place: the last is another domain's";
  ASSERT_TRUE(stack.pop(&domain_a, popped));
  EXPECT_TRUE(popped.is_unheard());
  ASSERT_TRUE(stack.pop(nullptr, popped));
  EXPECT_EQ(popped.step_name, 1u);
}

TEST(RangeStack, CountsWhatIsTooDeepWhetherHeardOrNot) {
  RangeStack stack{};
  for (std::size_t i = 0; i < deepest; ++i) stack.push(nullptr)->step_name = 1;
  EXPECT_EQ(stack.push(nullptr), nullptr);
  EXPECT_FALSE(stack.push_unheard(nullptr));
  EXPECT_EQ(stack.push(nullptr), nullptr);
  EXPECT_FALSE(stack.pop_unheard(nullptr)) << "the pop of one that is too deep";
  OpenRange popped;
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(stack.pop(nullptr, popped));
  for (std::size_t i = 0; i < deepest; ++i) EXPECT_TRUE(stack.pop(nullptr, popped)) << i;
}

TEST(OpenRange, KeepsItsRecordWhileItIsItsOwn) {
  Recording recording;
  event::Record* record = ring::claim(ring::writer);
  ring::publish(*record, 77);
  OpenRange range{};
  EXPECT_EQ(range.own_record(), nullptr);
  range.set_record(record, 77);
  EXPECT_EQ(range.own_record(), record);
  // The flight recorder went round: the place is another call's.
  ring::publish(*record, 99);
  EXPECT_EQ(range.own_record(), nullptr);
}

TEST(OpenRange, TouchesNoRecordOfTheParentsRingAfterFork) {
  Recording recording;
  event::Record* record = ring::claim(ring::writer);
  ring::publish(*record, 77);
  OpenRange range{};
  range.set_record(record, 77);
  ring::target.generation.fetch_add(1);  // as in a forked child
  EXPECT_EQ(range.own_record(), nullptr);
}

TEST(RangeStack, WhatIsOpenEndsWithItsThread) {
  Recording recording;
  event::Record* records[2] = {};
  std::thread([&] {
    RangeStack* own = RangeStack::of_this_thread();
    for (event::Record*& record : records) {
      record = ring::claim(ring::writer);
      ring::publish(*record, 77);
      own->push(nullptr)->set_record(record, 77);
    }
    OpenRange popped;
    EXPECT_TRUE(own->pop(nullptr, popped)) << "the inner one, whose end is its pop's";
  }).join();
  EXPECT_NE(records[0]->end_ticks.load(), 0u);
  EXPECT_EQ(records[1]->end_ticks.load(), 0u);
}

TEST(StartedRanges, AreEndedOnceByTheirId) {
  OpenRange range{};
  range.step_name = request;
  const std::uint64_t id = start_range(range);
  ASSERT_NE(id, 0u);
  OpenRange ended{};
  EXPECT_FALSE(end_range(0, ended));
  EXPECT_FALSE(end_range(id + 256, ended)) << "an id of nobody";
  ASSERT_TRUE(end_range(id, ended));
  EXPECT_EQ(ended.step_name, request);
  EXPECT_FALSE(end_range(id, ended)) << "ended twice";
}

TEST(StartedRanges, MayOverlapAndEndInAnyOrder) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 200; ++i) {
    OpenRange range{};
    range.step_name = static_cast<step::StepName>(i);
    ids.push_back(start_range(range));
    ASSERT_NE(ids.back(), 0u) << i;
  }
  EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); i += 2) {
    OpenRange ended{};
    ASSERT_TRUE(end_range(ids[i], ended));
    EXPECT_EQ(ended.step_name, i);
  }
  for (std::size_t i = ids.size(); i-- > 0;) {
    OpenRange ended{};
    EXPECT_EQ(end_range(ids[i], ended), i % 2 == 1);
  }
}

TEST(StartedRanges, MoreThanWeFollowGetNoId) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 300; ++i) ids.push_back(start_range(OpenRange{}));
  EXPECT_EQ(ids.back(), 0u);
  for (const std::uint64_t id : ids) {
    OpenRange ended{};
    EXPECT_EQ(end_range(id, ended), id != 0);
  }
}

}  // namespace
}  // namespace traceagent::door
