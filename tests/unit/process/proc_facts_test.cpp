#include "agent/process/proc_facts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

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

ProcessFacts process_facts(int pid, const char* program, std::vector<std::string> variables = {}) {
  return {pid, 100, {program}, true, std::move(variables)};
}

std::string shown(const ProcFacts& facts) {
  std::string text;
  for (const ProcessFacts& process : facts.chain) {
    text += std::to_string(process.pid) + " " + process.command[0];
    for (const std::string& name : process.rank_variables) text += " " + name;
    text += "\n";
  }
  return text;
}

// Titles are written over what /proc shows.
TEST(ProcFacts, OfAForkedChildAreThoseThatItsParentKnew) {
  ProcFacts parent;
  parent.chain = {process_facts(20, "train", {"RANK"}), process_facts(10, "torchrun")};
  ProcFacts child;
  child.chain = {process_facts(22, "worker 2"), process_facts(21, "worker"),
                 process_facts(20, "rank 0"), process_facts(10, "launcher")};
  EXPECT_EQ(shown(parent.of_child(child)),
            "22 train RANK\n21 train RANK\n20 train RANK\n10 torchrun\n");
  // Of a parent that is gone others have the children.
  child.chain = {process_facts(22, "worker"), process_facts(1, "init")};
  EXPECT_EQ(shown(parent.of_child(child)), "22 train RANK\n20 train RANK\n10 torchrun\n");
}

TEST(ProcFacts, OfThisProcessHaveItsPresentVariables) {
  ASSERT_EQ(setenv("RANK", "1", 1), 0);
  const std::vector<std::string> names = ProcFacts::of_process().chain[0].rank_variables;
  EXPECT_NE(std::ranges::find(names, "RANK"), names.end());
  unsetenv("RANK");
  const std::vector<std::string> without = ProcFacts::of_process().chain[0].rank_variables;
  EXPECT_EQ(std::ranges::find(without, "RANK"), without.end());
}

}  // namespace
}  // namespace traceagent::process
