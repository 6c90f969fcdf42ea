#include "tools/clocks/barrier_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace traceagent::tools {
namespace {

constexpr std::int64_t begin_ns = 1'700'000'000'000'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t bound_ns = 100'000;

BarrierMark mark(double at_s, const std::string& batch = "", std::int64_t rank = 0) {
  return {rank, begin_ns + static_cast<std::int64_t>(at_s * second_ns), bound_ns, 0, batch};
}

std::uint64_t work_left = 0;  // of the last pairing

std::vector<ClockDifference::Knot> knots(const std::vector<BarrierMark>& own,
                                         const std::vector<BarrierMark>& other,
                                         const std::vector<BarrierMark>& third = {}) {
  work_left = 1'000'000;
  const PassedBarriers own_barriers(own), other_barriers(other);
  const std::size_t runs =
      std::max({runs_of(own_barriers), runs_of(other_barriers), runs_of(PassedBarriers(third))});
  return pair_barriers(own_barriers, other_barriers, runs, {}, work_left);
}

std::vector<std::int64_t> offsets_us(const std::vector<BarrierMark>& own,
                                     const std::vector<BarrierMark>& other) {
  std::vector<std::int64_t> offsets;
  for (const ClockDifference::Knot& knot : knots(own, other)) {
    offsets.push_back(static_cast<std::int64_t>(knot.offset_ns) / 1000);
  }
  return offsets;
}

using Offsets = std::vector<std::int64_t>;

std::vector<BarrierMark> passed(std::vector<BarrierMark> marks) {
  return PassedBarriers(std::move(marks)).marks;
}

TEST(BarrierPairs, ABarrierThatBothHavePassedIsAKnot) {
  const auto found = knots({mark(1.5)}, {mark(1)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at_ns, begin_ns + 1'500'000'000);
  EXPECT_EQ(found[0].offset_ns, -500e6);
  EXPECT_EQ(found[0].bound_ns, bound_ns + 1);
}

TEST(BarrierPairs, EachCycleIsAKnotSoThatTheDriftIsKnown) {
  // 50 ppm in 3,600 s.
  EXPECT_EQ(offsets_us({mark(0), mark(3600.18), mark(7200.36)}, {mark(0), mark(3600), mark(7200)}),
            (Offsets{0, -180'000, -360'000}));
}

std::vector<BarrierMark> cycles(double begin_s, int first, int count) {
  std::vector<BarrierMark> marks;
  for (int i = first; i < first + count; ++i) {
    marks.push_back(mark(begin_s + 100.0 * i, "[0, " + std::to_string(40 * i) + "]"));
  }
  return marks;
}

TEST(BarrierPairs, CyclesThatOneLacksArePassedOver) {
  EXPECT_EQ(offsets_us(cycles(-2, 0, 20), cycles(0, 17, 8)),
            (Offsets{2'000'000, 2'000'000, 2'000'000}));
  EXPECT_EQ(offsets_us(cycles(-2, 17, 8), cycles(0, 0, 20)),
            (Offsets{2'000'000, 2'000'000, 2'000'000}));
  std::vector<BarrierMark> some = cycles(0, 0, 5);
  some.erase(some.begin() + 1, some.begin() + 3);
  EXPECT_EQ(offsets_us(some, cycles(-3, 0, 5)).size(), 3U);
  EXPECT_EQ(offsets_us(cycles(-3, 0, 5), some).size(), 3U);
}

TEST(BarrierPairs, BarriersOfOtherBatchesAreNotTheSame) {
  EXPECT_EQ(offsets_us({mark(10, "[0, 20]")}, {mark(0, "[0, 4]")}), Offsets());
  EXPECT_EQ(offsets_us({mark(12, "[0, 20]")}, {mark(0, "[0, 4]"), mark(10.5, "[0, 20]")}),
            Offsets{-1'500'000});
  // Twelve seconds off is nearer, but was another batch.
  EXPECT_EQ(offsets_us({mark(12, "[0, 20]")}, {mark(12, "[0, 4]"), mark(24.5, "[0, 20]")}),
            Offsets{12'500'000});
  EXPECT_EQ(offsets_us(cycles(0, 0, 3), cycles(0, 3, 3)), Offsets()) << "all lie alike";
}

TEST(BarrierPairs, AMarkWithoutABatchIsOfNoneThatOthersTell) {
  std::vector<BarrierMark> marks = cycles(0, 0, 3);
  marks[0].batch.clear();
  EXPECT_EQ(offsets_us(marks, cycles(-2, 0, 3)).size(), 2U);
  EXPECT_EQ(offsets_us(cycles(-2, 0, 3), marks).size(), 2U);
  // By chance within what the clocks may have drifted.
  EXPECT_EQ(offsets_us({mark(0, "[0, 0]"), mark(300)}, {mark(0, "[0, 0]"), mark(300.05)}),
            Offsets{0});
}

TEST(BarrierPairs, WhatMergesLeftWrongAddsUp) {
  BarrierMark own = mark(1, "[0, 0]"), other = mark(1, "[0, 0]");
  own.moved_ns = 3000;
  other.moved_ns = 4000;
  EXPECT_EQ(knots({own}, {other}).at(0).bound_ns, bound_ns + 7001);
}

TEST(BarrierPairs, WhatLiesAlikeTwiceIsNotGuessed) {
  EXPECT_EQ(offsets_us({mark(14)}, {mark(10), mark(20)}), Offsets());
  EXPECT_EQ(offsets_us({mark(10.1)}, {mark(10), mark(20)}), Offsets());
  // A job that began again, with the same batches, of which one rank's first files are gone.
  EXPECT_EQ(offsets_us({mark(450, "[0, 4]")}, {mark(100, "[0, 4]"), mark(500, "[0, 4]")}),
            Offsets());
  EXPECT_EQ(offsets_us({mark(98, "[0, 4]"), mark(498, "[0, 4]")},
                       {mark(100, "[0, 4]"), mark(500, "[0, 4]")}),
            (Offsets{2'000'000, 2'000'000}));
  // Nobody says which they are: as many, and alike.
  EXPECT_EQ(offsets_us({mark(14), mark(24), mark(34)}, {mark(10), mark(20), mark(30)}),
            (Offsets{-4'000'000, -4'000'000, -4'000'000}));
  EXPECT_EQ(offsets_us({mark(14), mark(24), mark(35)}, {mark(10), mark(20), mark(30)}), Offsets());
}

TEST(BarrierPairs, ABatchThatAThirdClockHasTwiceMayBeOfTwoRuns) {
  const std::vector<BarrierMark> first = {mark(0, "[0, 0]")}, second = {mark(600, "[0, 0]")};
  const std::vector<BarrierMark> both = {mark(5, "[0, 0]"), mark(605, "[0, 0]")};
  EXPECT_EQ(knots(first, second).size(), 1U) << "nobody knows of two runs";
  EXPECT_EQ(knots(first, second, both).size(), 0U);
  EXPECT_EQ(knots(both, both, both).size(), 2U);
  // Nor does what else they have tell the run.
  const std::vector<BarrierMark> more = {mark(0, "[0, 0]"), mark(9, "[0, 9]")};
  EXPECT_EQ(knots(more, more, both).size(), 0U);
}

// Between the knots its times are told as if it had gone straight.
TEST(BarrierPairs, AClockThatWasSteeredHasNoBoundByASmoothDrift) {
  // Batches of 100 s; its own is slewed by 150 ppm for 50 s of the second.
  const std::vector<BarrierMark> other = cycles(0, 0, 4);
  std::vector<BarrierMark> slewed = other;
  for (std::size_t i = 2; i < slewed.size(); ++i) slewed[i].at_ns += 7'500'000;
  const auto found = knots(slewed, other);
  ASSERT_EQ(found.size(), 4U);
  const std::int64_t middle_ns = begin_ns + 150 * second_ns;
  EXPECT_GT(ClockDifference(found, {}).bound_ns({middle_ns, middle_ns}), 3'750'000.0);
  // Steady, however fast.
  for (std::size_t i = 0; i < slewed.size(); ++i) {
    slewed[i].at_ns = other[i].at_ns + static_cast<std::int64_t>(i) * 15'000'000;
  }
  EXPECT_LT(ClockDifference(knots(slewed, other), {}).bound_ns({middle_ns, middle_ns}), 200'000.0);
}

TEST(BarrierPairs, AJobThatBeganAgainOftenIsStillCompared) {
  std::vector<BarrierMark> own, other;
  for (int run = 0; run < 8; ++run) {
    for (const BarrierMark& each : cycles(10'000.0 * run, 0, 60)) {
      own.push_back(each);
      other.push_back(each);
      other.back().at_ns += 3 * second_ns;
    }
  }
  EXPECT_EQ(offsets_us(own, other), Offsets(480, 3'000'000));
  EXPECT_GT(work_left, 950'000U) << "60 such pairs in a twentieth of what a merge may take";
}

TEST(BarrierPairs, WhatHasNothingInCommonCostsTimeToo) {
  std::vector<BarrierMark> own = cycles(0, 0, 100), other = cycles(0, 1000, 100);
  EXPECT_TRUE(knots(own, other).empty());
  EXPECT_LT(work_left, 1'000'000U);
}

TEST(BarrierPairs, MarksThatAreAllAlikeTakeNoMinutes) {
  std::vector<BarrierMark> own;
  for (int i = 0; i < 20'000; ++i) own.push_back(mark(i, "[0, 0]"));
  EXPECT_EQ(offsets_us(own, {own.begin(), own.begin() + 10'000}), Offsets());
}

TEST(BarrierPairs, TwoThatAreCloseTellOfNoDrift) {
  EXPECT_EQ(offsets_us({mark(1), mark(1.005), mark(2)}, {mark(1), mark(1.00515), mark(2)}),
            (Offsets{0, 0}));
}

TEST(BarrierPairs, MarksThatCannotBeMetGiveNone) {
  EXPECT_TRUE(knots({}, {mark(1)}).empty());
  EXPECT_TRUE(knots({mark(1)}, {}).empty());
}

TEST(BarrierPairs, OfRanksOfOneClockOneMarkIsLeftForEachBarrier) {
  const auto joined =
      passed({mark(5, "[0, 4]", 1), mark(9, "", 3), mark(5.00005, "[0, 4]", 0), mark(9, "", 1)});
  ASSERT_EQ(joined.size(), 2U);
  EXPECT_EQ(joined[0].rank, 0);
  EXPECT_EQ(joined[0].at_ns, begin_ns + 5'000'050'000);
  EXPECT_EQ(joined[1].rank, 1);
  EXPECT_EQ(passed({mark(5, "[0, 1]"), mark(5, "[0, 2]")}).size(), 2U);
}

}  // namespace
}  // namespace traceagent::tools
