#include "agent/process/included_traces.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

TEST(IncludedTraces, WhatTheToolSaysOfTheNodesFileIsRead) {
  const auto all = totals_said(
      "read: a.json: PyTorch, rank 0, 3 events, 1 lost: no_ts\n"
      "/out/node0.json: 2 ranks, 40 events, 3 events lost (no_ts 2, ring_full 1), names_full 4, "
      "5120 bytes\nmissing: rank 7\n",
      "/out/node0.json");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ranks, 2U);
  EXPECT_EQ(all->events, 40U);
  EXPECT_EQ(all->lost, 3U);
  EXPECT_EQ(all->causes, "no_ts 2, ring_full 1");
  EXPECT_EQ(all->others, "names_full 4");
  const auto none = totals_said("n.json: 1 rank, 1 event, 9 bytes\n", "n.json");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->ranks, 1U);
  EXPECT_EQ(none->events, 1U);
  EXPECT_EQ(none->lost, 0U);
  EXPECT_EQ(none->others, "");
  EXPECT_EQ(totals_said("n.json: 1 rank, 1 event, names_full 4, 9 bytes\n", "n.json")->others,
            "names_full 4");
}

TEST(IncludedTraces, OfSeveralProblemsTheFirstIsToldAndHowManyMore) {
  EXPECT_EQ(problem_said("read: a\ntraceagent: a.json: cut\nb: 1 rank\n"), "a.json: cut");
  EXPECT_EQ(problem_said("traceagent: a: cut\nx\ntraceagent: b: cut\ntraceagent: c: no trace"),
            "a: cut; also 2 more");
  EXPECT_EQ(problem_said("left out: traceagent: x\n"), "traceagent merge failed");
}

TEST(IncludedTraces, WhereItWroteNothingItsWordsAreOfOtherFiles) {
  EXPECT_FALSE(totals_said("", "n.json"));
  EXPECT_FALSE(totals_said("traceagent: merge given up: n.json: no space\n", "n.json"));
  EXPECT_FALSE(totals_said("/other/n.json: 1 rank, 1 event, 9 bytes\n", "n.json"));
}

}  // namespace
}  // namespace traceagent::process
