#include "agent/step/marks.hpp"

#include <gtest/gtest.h>

namespace traceagent::step {
namespace {

MarkSpecification parsed(std::string_view text) { return config::parse_step_mark(text).mark; }

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
