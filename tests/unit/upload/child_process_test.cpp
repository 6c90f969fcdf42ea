#include "tools/upload/child_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace traceagent::tools {
namespace {

using std::chrono::seconds;

TEST(ChildProcess, TellsHowItEnded) {
  EXPECT_TRUE(run_child({"true"}, seconds(30)).is_success());
  EXPECT_EQ(run_child({"sh", "-c", "exit 3"}, seconds(30)).problem(), "exit code 3");
  EXPECT_FALSE(run_child({"no-such-command"}, seconds(30)).is_success());
  EXPECT_FALSE(run_child({"sleep", "30"}, std::chrono::milliseconds(50)).in_time);
}

TEST(ChildProcess, IsNotWaitedForWhereItsEndIsTakenAway) {
  signal(SIGCHLD, SIG_IGN);
  const ChildEnd end = run_child({"true"}, seconds(30));
  signal(SIGCHLD, SIG_DFL);
  EXPECT_TRUE(end.in_time);
  EXPECT_FALSE(end.is_success());
  EXPECT_NE(end.problem(), "");
}

TEST(ChildProcess, ItsOutputIsWholeAlthoughAnotherHoldsIt) {
  const ChildEnd end = run_child({"sh", "-c", "sleep 60 & echo $!; seq 10000"}, seconds(30), true);
  const int left_behind = std::atoi(end.said.c_str());
  if (left_behind > 0) kill(left_behind, SIGKILL);
  EXPECT_TRUE(end.is_success()) << end.problem();
  EXPECT_TRUE(end.said.ends_with("\n10000\n"));
  EXPECT_EQ(end.said.size() - end.said.find('\n') - 1, 48'894U);
}

}  // namespace
}  // namespace traceagent::tools
