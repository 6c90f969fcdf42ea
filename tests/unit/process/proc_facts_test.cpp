#include "agent/process/proc_facts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

namespace traceagent::process {
namespace {

TEST(ProcFacts, OfThisProcess) {
  const ProcFacts facts = ProcFacts::of_process();
  ASSERT_GE(facts.chain.size(), 2U);
  EXPECT_EQ(facts.chain[0].pid, getpid());
  EXPECT_EQ(facts.chain[1].pid, getppid());
  ASSERT_FALSE(facts.chain[0].command.empty());
  EXPECT_NE(facts.chain[0].command[0].find("unit_"), std::string::npos);
  EXPECT_TRUE(facts.chain[0].environment_known);
  EXPECT_LE(facts.chain[1].start_ticks, facts.chain[0].start_ticks);
  EXPECT_LE(facts.chain.size(), 16U);
  EXPECT_FALSE(facts.host.empty());
}

TEST(ProcFacts, GiveThisProcessesStartTime) {
  const ProcFacts facts = ProcFacts::of_process();
  const std::int64_t start_s =
      facts.boot_time_s +
      static_cast<std::int64_t>(facts.chain[0].start_ticks) / facts.ticks_per_second;
  const std::int64_t now_s = std::time(nullptr);
  EXPECT_LE(start_s, now_s + 2);
  EXPECT_GT(start_s, now_s - 24 * 3600);
}

TEST(ProcFacts, AreTheSameWheneverTheyAreRead) {
  const ProcFacts one = ProcFacts::of_process();
  const ProcFacts two = ProcFacts::of_process();
  EXPECT_EQ(one.boot_time_s, two.boot_time_s);
  EXPECT_EQ(one.chain[1].start_ticks, two.chain[1].start_ticks);
}

}  // namespace
}  // namespace traceagent::process
