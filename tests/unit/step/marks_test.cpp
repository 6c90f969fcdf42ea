#include "agent/step/marks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
    EXPECT_TRUE(first_letters(parsed("auto"))[static_cast<unsigned char>(*name)]) << name;
  }
  for (const auto* name : {"", "12", "optimizer step", "Optimizer.step#Adam.step", "forward"}) {
    EXPECT_LT(known_step_index(name), 0) << name;
  }
}

TEST(Marks, FirstLettersSayNoToMostNames) {
  const auto named = first_letters(parsed("nvtx:\xd6l*"));
  EXPECT_EQ(std::count(named.begin(), named.end(), true), 1);
  EXPECT_TRUE(named[0xd6]);
  const auto of_auto = first_letters(parsed("auto"));
  for (const char letter : {'f', 'o', 'b', '\0'}) {
    EXPECT_FALSE(of_auto[static_cast<unsigned char>(letter)]) << letter;
  }
  const auto of_slices = first_letters(parsed("every:1s"));
  EXPECT_EQ(std::count(of_slices.begin(), of_slices.end(), true), 0);
}

}  // namespace
}  // namespace traceagent::step
