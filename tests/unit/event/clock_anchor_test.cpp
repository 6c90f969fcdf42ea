#include "agent/event/clock_anchor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "agent/event/ticks.hpp"

namespace traceagent::event {
namespace {

constexpr std::uint64_t base_ns = 1'700'000'000'000'000'000;

TEST(TakeAnchor, LiesBetweenReadingsOfBothClocks) {
  choose_tick_source();
  const std::uint64_t ticks_before = read_ticks();
  const std::uint64_t ns_before = clock_ns(CLOCK_REALTIME);
  const ClockAnchor anchor = take_anchor();
  EXPECT_GE(anchor.ticks, ticks_before);
  EXPECT_LE(anchor.ticks + anchor.error_ticks, read_ticks());
  EXPECT_GE(anchor.realtime_ns, ns_before);
  EXPECT_LE(anchor.realtime_ns, clock_ns(CLOCK_REALTIME));
}

TEST(TickConverter, IsExactAtItsAnchors) {
  // 2 ticks per ns, and a clock that is slewed a little between the anchors.
  const std::array<ClockAnchor, 3> anchors = {{{1'000'000, base_ns, 10},
                                               {2'001'000'000, base_ns + 1'000'100'000, 30},
                                               {4'001'000'000, base_ns + 2'000'000'000, 20}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  for (const ClockAnchor& anchor : anchors) {
    EXPECT_EQ(clock.realtime_ns(anchor.ticks), static_cast<std::int64_t>(anchor.realtime_ns));
  }
  EXPECT_DOUBLE_EQ(clock.error_ns(anchors[0].ticks, anchors[2].ticks),
                   30 * (2'000'000'000.0 / 4'000'000'000.0));
}

TEST(TickConverter, InterpolatesWithTheRateOfTheNeighbours) {
  const std::array<ClockAnchor, 3> anchors = {{{0, base_ns, 0},
                                               {1'000'000'000, base_ns + 500'000'000, 0},
                                               {2'000'000'000, base_ns + 1'001'000'000, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  const auto base = static_cast<std::int64_t>(base_ns);
  EXPECT_EQ(clock.realtime_ns(400'000'000), base + 200'000'000);
  EXPECT_EQ(clock.realtime_ns(1'500'000'000), base + 500'000'000 + 250'500'000);
}

TEST(TickConverter, ExtrapolatesBeforeTheFirstAndBeyondTheLast) {
  const std::array<ClockAnchor, 3> anchors = {{{1'000'000'000, base_ns, 0},
                                               {3'000'000'000, base_ns + 1'000'000'000, 0},
                                               {5'000'000'000, base_ns + 2'002'000'000, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  const auto base = static_cast<std::int64_t>(base_ns);
  EXPECT_EQ(clock.realtime_ns(500'000'000), base - 250'000'000);
  EXPECT_EQ(clock.realtime_ns(5'100'000'000), base + 2'002'000'000 + 50'100'000);
}

// A window was written, and its anchor lies near the one before, when the process is killed.
TEST(TickConverter, ExtrapolatesAtTheRateOfASecond) {
  // 2 ticks per ns; the last anchor is read 300 ns too late.
  constexpr std::uint64_t ms_ticks = 2'000'000;
  const std::array<ClockAnchor, 4> anchors = {{{0, base_ns, 600},
                                               {500 * ms_ticks, base_ns + 500'000'000, 600},
                                               {1501 * ms_ticks, base_ns + 1'501'000'000, 600},
                                               {1504 * ms_ticks, base_ns + 1'504'000'300, 600}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  const auto truth = static_cast<std::int64_t>(base_ns) + 2'504'000'000;
  EXPECT_NEAR(static_cast<double>(clock.realtime_ns(2504 * ms_ticks) - truth), 0, 600);
  // A steered clock's rate, for 1000 ms: more than both readings over 1004 ms.
  EXPECT_NEAR(clock.error_ns(0, 2504 * ms_ticks), 300 + 1000, 1);
  EXPECT_NEAR(clock.error_ns(0, 1504 * ms_ticks), 300, 1);
}

TEST(TickConverter, ExtrapolatesAtTheRateOfTheWholeRunWhereItIsShort) {
  constexpr std::uint64_t ms_ticks = 2'000'000;
  const std::array<ClockAnchor, 3> anchors = {{{0, base_ns, 40},
                                               {8 * ms_ticks, base_ns + 8'000'000, 40},
                                               {11 * ms_ticks, base_ns + 11'000'020, 40}}};
  // The nominal rate is off by 50 millionths, the last two anchors' by 7.
  const TickConverter clock(anchors.data(), anchors.size(), {0.500025});
  const auto base = static_cast<std::int64_t>(base_ns);
  EXPECT_NEAR(static_cast<double>(clock.realtime_ns(22 * ms_ticks) - base - 22'000'000), 0, 41);
  EXPECT_NEAR(static_cast<double>(clock.realtime_ns(9 * ms_ticks) - base - 9'000'000), 0, 20);
  EXPECT_NEAR(clock.error_ns(0, 22 * ms_ticks), 20 + 40, 0.1);
}

// Measured since the load, which was seconds ago.
TEST(TickConverter, TakesTheNominalRateWhereItIsBetterThanTheAnchors) {
  constexpr std::uint64_t ms_ticks = 2'000'000;
  const std::array<ClockAnchor, 2> anchors = {
      {{0, base_ns, 80}, {3 * ms_ticks, base_ns + 3'000'060, 80}}};
  const auto truth = static_cast<std::int64_t>(base_ns) + 50'000'000;
  const TickConverter good(anchors.data(), anchors.size(), {0.5, 1e-7});
  EXPECT_NEAR(static_cast<double>(good.realtime_ns(50 * ms_ticks) - truth), 0, 61);
  EXPECT_NEAR(good.error_ns(0, 50 * ms_ticks), 40 + 470, 1) << "a steered clock's rate";
  const TickConverter bad(anchors.data(), anchors.size(), {0.5, 1e-3});
  EXPECT_NEAR(static_cast<double>(bad.realtime_ns(50 * ms_ticks) - truth), 60 + 20 * 47, 2);
  EXPECT_NEAR(bad.error_ns(0, 50 * ms_ticks), 40 + 47e6 * 160 / (3.0 * ms_ticks), 2);
}

TEST(TickConverter, NeverGoesBackAtAnAnchorThatLiesNear) {
  // One millisecond apart, the second reading 40 ns early, the third as much late.
  const std::array<ClockAnchor, 4> anchors = {{{0, base_ns, 80},
                                               {2'000'000, base_ns + 999'960, 80},
                                               {4'000'000, base_ns + 2'000'040, 80},
                                               {400'000'000, base_ns + 200'000'000, 80}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  std::int64_t last = clock.realtime_ns(0);
  for (std::uint64_t ticks = 1'999'000; ticks < 4'001'000; ticks += 3) {
    const std::int64_t now = clock.realtime_ns(ticks);
    ASSERT_GE(now, last) << "at " << ticks;
    last = now;
  }
}

// Not by a rate into which half a second went, and not by the nominal one either.
TEST(TickConverter, ExtrapolatesByTheClockAsItWasSetLast) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  const std::array<ClockAnchor, 4> anchors = {
      {{0, base_ns, 0},
       {2'000'000'000'000, base_ns + 1000 * second_ns, 0},
       {2'001'000'000'000, base_ns + 1001 * second_ns, 0},
       {2'002'000'000'000, base_ns + 1001 * second_ns + 500'000'000, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5001, 1e-3});
  EXPECT_NEAR(static_cast<double>(clock.realtime_ns(2'003'000'000'000) -
                                  static_cast<std::int64_t>(base_ns + 1002 * second_ns)),
              0, 2);
}

TEST(TickConverter, UsesTheNominalRateWithOneAnchor) {
  const ClockAnchor anchor{1'000, base_ns, 8};
  const TickConverter clock(&anchor, 1, {0.25});
  EXPECT_EQ(clock.realtime_ns(5'000), static_cast<std::int64_t>(base_ns) + 1'000);
  EXPECT_EQ(clock.realtime_ns(600), static_cast<std::int64_t>(base_ns) - 100);
  EXPECT_DOUBLE_EQ(clock.error_ns(1'000, 1'000), 2.0);
  EXPECT_DOUBLE_EQ(clock.error_ns(1'000, 401'000), 2.0 + 100.0)
      << "the nominal rate is right to 0.1 %";
  EXPECT_DOUBLE_EQ(clock.error_ns(600, 1'000), 2.0 + 0.1);
}

TEST(TickConverter, SaysZeroWithoutAnchors) {
  EXPECT_EQ(TickConverter(nullptr, 0, {0.5}).realtime_ns(123), 0);
}

TEST(TickConverter, TakesNoRateFromAnchorsThatLieTooClose) {
  // 100 µs apart, 1 µs of reading error: 1 % in the slope. The nominal rate is better.
  const std::array<ClockAnchor, 2> anchors = {
      {{1'000'000, base_ns, 0}, {1'200'000, base_ns + 100'900, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  EXPECT_EQ(clock.realtime_ns(1'100'000), static_cast<std::int64_t>(base_ns) + 50'000);
}

TEST(TickConverter, RefusesTheRateOfAClockThatWasSet) {
  // One second of ticks, but an hour of CLOCK_REALTIME: somebody set the date.
  constexpr std::uint64_t hour_ns = 3'600'000'000'000;
  const std::array<ClockAnchor, 2> anchors = {
      {{0, base_ns, 0}, {2'000'000'000, base_ns + 1'000'000'000 + hour_ns, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  const auto base = static_cast<std::int64_t>(base_ns);
  EXPECT_EQ(clock.realtime_ns(1'000'000'000), base + 500'000'000);
  const auto hour = static_cast<std::int64_t>(hour_ns);
  EXPECT_EQ(clock.realtime_ns(2'000'000'100), base + 1'000'000'050 + hour);
}

TEST(TickConverter, RefusesAClockThatWentBack) {
  const std::array<ClockAnchor, 2> anchors = {
      {{0, base_ns, 0}, {2'000'000'000, base_ns - 5'000'000'000, 0}}};
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  EXPECT_EQ(clock.realtime_ns(200), static_cast<std::int64_t>(base_ns) + 100);
}

TEST(AnchorsOfOneClock, AreThoseBetweenWhichItWasNotSet) {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  const std::array<ClockAnchor, 5> anchors = {{{0, base_ns, 0},
                                               {2'000'000'000, base_ns + second_ns, 0},
                                               {4'000'000'000, base_ns - 3600 * second_ns, 0},
                                               {6'000'000'000, base_ns - 3599 * second_ns, 0},
                                               {6'000'000'100, base_ns + 10 * second_ns, 0}}};
  const auto found = [&](std::uint64_t ticks) {
    const auto some = anchors_of_one_clock(anchors, ticks, 0.5);
    return std::pair{some.data() - anchors.data(), some.size()};
  };
  EXPECT_EQ(found(0), (std::pair{std::ptrdiff_t{0}, std::size_t{2}}));
  EXPECT_EQ(found(3'999'999'999), (std::pair{std::ptrdiff_t{0}, std::size_t{2}}));
  EXPECT_EQ(found(4'000'000'000), (std::pair{std::ptrdiff_t{2}, std::size_t{2}}));
  EXPECT_EQ(found(7'000'000'000), (std::pair{std::ptrdiff_t{4}, std::size_t{1}}));
  EXPECT_TRUE(anchors_of_one_clock({}, 0, 0.5).empty());
}

// Of a damaged ring: no sum or difference of two times may overflow.
TEST(TickConverter, KeepsAnyNumbersTimesWithinBounds) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {1e300, -1e300, nan, 1.0}) {
    for (const std::uint64_t realtime_ns : {std::uint64_t{0}, base_ns, UINT64_MAX}) {
      const ClockAnchor anchor{1000, realtime_ns, 1};
      const TickConverter clock(&anchor, 1, {rate});
      for (const std::uint64_t ticks : {std::uint64_t{0}, UINT64_MAX / 2, UINT64_MAX}) {
        EXPECT_LE(clock.realtime_ns(ticks), INT64_MAX / 2);
        EXPECT_GE(clock.realtime_ns(ticks), INT64_MIN / 2);
      }
    }
  }
  for (const std::uint64_t ticks : {std::uint64_t{0}, std::uint64_t{5}, UINT64_MAX}) {
    for (const std::uint64_t realtime_ns : {std::uint64_t{0}, base_ns, UINT64_MAX}) {
      const std::array<ClockAnchor, 3> anchors = {
          {{1000, base_ns, UINT64_MAX}, {ticks, realtime_ns, UINT64_MAX}, {7, UINT64_MAX, 0}}};
      for (const double rate : {1e300, -1e300, nan, 1.0}) {
        const TickConverter clock(anchors.data(), anchors.size(), {rate, nan});
        for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{6}, UINT64_MAX}) {
          EXPECT_LE(clock.realtime_ns(at), INT64_MAX / 2);
          EXPECT_GE(clock.realtime_ns(at), INT64_MIN / 2);
        }
        EXPECT_FALSE(clock.error_ns(0, UINT64_MAX) < 0);
      }
    }
  }
}

TEST(TickConverter, NeverGoesBackBetweenAnchorsOfASlewedClock) {
  std::vector<ClockAnchor> anchors;
  for (std::uint64_t i = 0; i < 20; ++i) {
    // NTP's largest slew, 500 ppm, to and fro.
    const std::uint64_t slew_ns = i % 2 == 0 ? 0 : 500'000;
    anchors.push_back({i * 2'000'000'000, base_ns + i * 1'000'000'000 + slew_ns, 5});
  }
  const TickConverter clock(anchors.data(), anchors.size(), {0.5});
  std::int64_t last = clock.realtime_ns(0);
  for (std::uint64_t ticks = 0; ticks < 41'000'000'000; ticks += 9'999'991) {
    const std::int64_t now = clock.realtime_ns(ticks);
    ASSERT_GE(now, last) << "at " << ticks;
    last = now;
  }
}

}  // namespace
}  // namespace traceagent::event
