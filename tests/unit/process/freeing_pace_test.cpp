#include "agent/process/freeing_pace.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

constexpr std::uint64_t pause = 100, none = FreeingPace::nothing_held;

TEST(FreeingPace, LooksOnlyWhereAChunkWasRetired) {
  FreeingPace pace(pause);
  EXPECT_FALSE(pace.is_due(1, false, none, true));
  EXPECT_TRUE(pace.is_due(2, true, none, true));
  pace.note(false);
  EXPECT_FALSE(pace.is_due(3, false, none, true));
  EXPECT_FALSE(pace.is_due(2000, false, none, false));
  EXPECT_TRUE(pace.is_due(2001, true, none, true));
}

TEST(FreeingPace, PausesWhileAWindowHoldsWhatItHeld) {
  FreeingPace pace(pause);
  EXPECT_TRUE(pace.is_due(10, true, 5, true));
  pace.note(true);
  EXPECT_FALSE(pace.is_due(20, true, 5, true));
  EXPECT_FALSE(pace.is_due(109, false, 5, true));
  EXPECT_TRUE(pace.is_due(110, false, 5, true));
  pace.note(true);
  // Written, or a later one: at once, with what was retired in the pause.
  EXPECT_TRUE(pace.is_due(111, false, none, true));
  pace.note(false);
  EXPECT_FALSE(pace.is_due(500, false, none, true));
}

TEST(FreeingPace, WhatWasRetiredInAPauseIsNotForgotten) {
  FreeingPace pace(pause);
  EXPECT_TRUE(pace.is_due(10, true, 5, true));
  pace.note(false);
  EXPECT_FALSE(pace.is_due(20, true, 5, true));
  EXPECT_FALSE(pace.is_due(21, false, 5, true));
  EXPECT_TRUE(pace.is_due(110, false, 5, true));
}

TEST(FreeingPace, HasNoPauseWhereTheRingRunsFull) {
  FreeingPace pace(pause);
  EXPECT_TRUE(pace.is_due(10, true, 5, false));
  pace.note(true);
  EXPECT_TRUE(pace.is_due(11, false, 5, false));
}

// A range that is open for the job's life keeps its chunk: the others are given back at once, and
// that one is looked at once in a pause.
TEST(FreeingPace, ARangeThatNeverEndsCostsAWalkInAPause) {
  FreeingPace pace(pause);
  EXPECT_TRUE(pace.is_due(10, true, none, true));
  pace.note(true);
  EXPECT_FALSE(pace.is_due(20, false, none, true));
  EXPECT_TRUE(pace.is_due(21, true, none, true));
  pace.note(true);
  EXPECT_FALSE(pace.is_due(120, false, none, true));
  EXPECT_TRUE(pace.is_due(121, false, none, true));
}

}  // namespace
}  // namespace traceagent::process
