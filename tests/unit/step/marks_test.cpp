#include "agent/step/marks.hpp"

#include <gtest/gtest.h>

namespace traceagent::step {
namespace {

using Kind = MarkSpecification::Kind;

MarkSpecification parsed(std::string_view text) {
  std::string problem;
  const auto mark = parse_mark(text, problem);
  EXPECT_TRUE(mark) << text << ": " << problem;
  return mark.value_or(MarkSpecification{});
}

TEST(Marks, ReadsEveryForm) {
  EXPECT_EQ(parsed("auto").kind, Kind::automatic);
  EXPECT_EQ(parsed("nvtx:train_step").name, "train_step");
  EXPECT_TRUE(parsed("nvtx:epoch*").is_prefix);
  EXPECT_EQ(parsed("call:ncclAllReduce").calls_per_step, 1U);
  EXPECT_EQ(parsed("call:ncclAllReduce:4").calls_per_step, 4U);
  EXPECT_EQ(parsed("call:ncclAllReduce:4").name, "ncclAllReduce");
  EXPECT_EQ(parsed("every:250ms").duration_ns, 250'000'000U);
}

TEST(Marks, SaysWhatIsWrong) {
  for (const auto* text : {"", "steps", "nvtx:", "nvtx:*", "call:", "call::3", "call:f:0",
                           "call:f:-1", "call:f:2x", "call:f:", "every:", "every:1", "every:0s",
                           "every:-1s", "every:1 fortnight", "every:nan", "every:9999999h"}) {
    std::string problem;
    EXPECT_FALSE(parse_mark(text, problem)) << text;
    EXPECT_FALSE(problem.empty()) << text;
  }
}

TEST(Marks, ReadsDurations) {
  EXPECT_EQ(parse_duration_ns("1s"), 1'000'000'000U);
  EXPECT_EQ(parse_duration_ns("1.5 s"), 1'500'000'000U);
  EXPECT_EQ(parse_duration_ns("2min"), 120'000'000'000U);
  EXPECT_EQ(parse_duration_ns("3us"), 3'000U);
}

TEST(Marks, ToleratesNumbersInNames) {
  const auto mark = parsed("nvtx:ProfilerStep");
  EXPECT_TRUE(matches_mark(mark, "ProfilerStep"));
  EXPECT_TRUE(matches_mark(mark, "ProfilerStep#12"));
  EXPECT_TRUE(matches_mark(mark, "ProfilerStep 12"));
  EXPECT_FALSE(matches_mark(mark, "ProfilerSteps"));
  EXPECT_FALSE(matches_mark(mark, "profilerstep"));
  EXPECT_TRUE(matches_mark(parsed("nvtx:batch*"), "batch of epoch 3"));
  EXPECT_TRUE(matches_mark(parsed("nvtx:phase_1"), "phase_1"));
}

TEST(Marks, KnowsTheNamesOfStepRanges) {
  for (const auto* name : {"step", "Step 12", "train_step", "Training Step: 3", "ITERATION",
                           "iter_7", "ProfilerStep#12", "global_step 5", "train_batch"}) {
    EXPECT_GE(known_step_index(name), 0) << name;
  }
  for (const auto* name : {"", "12", "optimizer step", "Optimizer.step#Adam.step", "forward"}) {
    EXPECT_LT(known_step_index(name), 0) << name;
  }
}

}  // namespace
}  // namespace traceagent::step
