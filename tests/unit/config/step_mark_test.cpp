#include "config/step_mark.hpp"

#include <gtest/gtest.h>

namespace traceagent::config {
namespace {

StepMark read(std::string_view text) {
  ParsedStepMark parsed = parse_step_mark(text);
  EXPECT_EQ(parsed.problem, "") << text;
  return parsed.mark;
}

TEST(StepMark, Auto) { EXPECT_EQ(read("auto").kind, StepMark::Kind::automatic); }

TEST(StepMark, Nvtx) {
  EXPECT_EQ(read("nvtx:step").kind, StepMark::Kind::nvtx);
  EXPECT_EQ(read("nvtx:step").name, "step");
  EXPECT_EQ(read("nvtx:Train: one step").name, "Train: one step");
}

TEST(StepMark, NvtxNamesThatBeginAlike) {
  EXPECT_FALSE(read("nvtx:step").is_prefix);
  EXPECT_TRUE(read("nvtx:step_*").is_prefix);
  EXPECT_EQ(read("nvtx:step_*").name, "step_");
}

TEST(StepMark, Call) {
  const StepMark each = read("call:ncclAllReduce");
  EXPECT_EQ(each.kind, StepMark::Kind::call);
  EXPECT_EQ(each.name, "ncclAllReduce");
  EXPECT_EQ(each.every_nth, 1U);
  const StepMark eighth = read("call:cudaDeviceSynchronize:8");
  EXPECT_EQ(eighth.name, "cudaDeviceSynchronize");
  EXPECT_EQ(eighth.every_nth, 8U);
}

TEST(StepMark, Every) {
  EXPECT_EQ(read("every:1s").kind, StepMark::Kind::every);
  EXPECT_EQ(read("every:1s").period_ns, 1000000000U);
  EXPECT_EQ(read("every:250ms").period_ns, 250000000U);
}

TEST(StepMark, SaysWhatIsWrong) {
  const auto problem = [](std::string_view text) { return parse_step_mark(text).problem; };
  EXPECT_EQ(problem("nvtx"), "a name is missing, such as in nvtx:step");
  EXPECT_EQ(problem("nvtx:"), "nvtx: needs the name of a range or mark");
  EXPECT_EQ(problem("nvtx:*"), "nvtx: needs the name of a range or mark");
  EXPECT_EQ(problem("call"), "a function is missing, such as in call:ncclAllReduce:4");
  EXPECT_EQ(problem("call:"), "call: needs the name of a function");
  EXPECT_EQ(problem("call:8"), "call: needs the name of a function");
  EXPECT_EQ(problem("call:a b"), "call: needs the name of a function");
  constexpr auto number = "the number of calls in a step must be a whole number from 1";
  EXPECT_EQ(problem("call:f:0"), number);
  EXPECT_EQ(problem("call:f:-1"), number);
  EXPECT_EQ(problem("call:f:"), number);
  EXPECT_EQ(problem("call:f:2x"), number);
  EXPECT_EQ(problem("call:f:99999999999999999999"), number);
  EXPECT_EQ(problem("every"), "a duration is missing, such as in every:1s");
  EXPECT_EQ(problem("every:"), "not a duration such as 5s");
  EXPECT_EQ(problem("every:1"), "the unit is missing, such as in 1s");
  EXPECT_EQ(problem("every:999us"), "shorter than 1ms");
  EXPECT_EQ(problem("every:1ms"), "");
  EXPECT_EQ(problem("every:8760h"), "");
  EXPECT_EQ(problem("every:8761h"), "longer than a year");
  EXPECT_EQ(problem("every:0s"), "a step must last longer than 0");
  EXPECT_EQ(problem("Auto:"),
            "not one of auto, nvtx:NAME, call:FUNCTION, call:FUNCTION:N, every:DURATION; "
            "the nearest is auto");
  EXPECT_EQ(problem(""),
            "not one of auto, nvtx:NAME, call:FUNCTION, call:FUNCTION:N, every:DURATION; "
            "there is none like it");
}

}  // namespace
}  // namespace traceagent::config
