#include "config/remote_target.hpp"

#include <gtest/gtest.h>

namespace traceagent::config {
namespace {

NameVariables variables() {
  NameVariables variables;
  variables.run_name = "my run's; x";
  variables.rank = 3;
  variables.batch = 5;
  return variables;
}

std::string place(const char* remote, const char* file = "ep0-ba5-rank3.json") {
  const RemoteTarget target = remote_target(remote, variables(), file);
  return target.problem.empty() ? target.place : "problem: " + target.problem;
}

TEST(RemoteTarget, PrefixesGetTheFilesName) {
  EXPECT_EQ(place("s3://b/p/"), "s3://b/p/ep0-ba5-rank3.json");
  EXPECT_EQ(place("s3://b/p"), "s3://b/p/ep0-ba5-rank3.json");
  EXPECT_EQ(place("s3://b"), "s3://b/ep0-ba5-rank3.json");
  EXPECT_EQ(place("s3://b/{rank}", "sub/x.json.gz"), "s3://b/3/sub/x.json.gz");
  EXPECT_EQ(place("/data/{rank:03d}/"), "/data/003/ep0-ba5-rank3.json");
  EXPECT_EQ(place("file:///data"), "/data/ep0-ba5-rank3.json");
}

TEST(RemoteTarget, WholeNamesStay) {
  EXPECT_EQ(place("s3://b/r{rank}-{batch:04d}.json"), "s3://b/r3-0005.json");
  EXPECT_EQ(place("s3://b/r{rank}.json", "x.json.gz"), "s3://b/r3.json.gz");
  EXPECT_EQ(place("s3://b/r{rank}.json.gz", "x.json.gz"), "s3://b/r3.json.gz");
}

// Else a run of that name would have all ranks' files in one.
TEST(RemoteTarget, AValueMakesNoWholeName) {
  NameVariables named = variables();
  named.run_name = "exp.json";
  EXPECT_EQ(remote_target("s3://b/{run_name}", named, "x.json").place, "s3://b/exp.json/x.json");
  EXPECT_EQ(remote_target("/data/{run_name}", named, "x.json").place, "/data/exp.json/x.json");
}

TEST(RemoteTarget, LeadingSlashesOfKeysAreDropped) {
  EXPECT_EQ(place("s3://b//p/"), "s3://b/p/ep0-ba5-rank3.json");
  EXPECT_EQ(place("s3://b///r{rank}.json"), "s3://b/r3.json");
}

TEST(RemoteTarget, CommandsAreWordsBeforeNamesComeIn) {
  const RemoteTarget target = remote_target(
      "exec:put --name={run_name}  'two words' \"a \\\" b\" c\\ d '' {} s3://b/{rank}", variables(),
      "x.json");
  EXPECT_EQ(target.problem, "");
  EXPECT_EQ(target.words, (std::vector<std::string>{"put", "--name=my run's; x", "two words",
                                                    "a \" b", "c d", "", "{}", "s3://b/3"}));
}

TEST(RemoteTarget, SaysWhatIsWrong) {
  EXPECT_EQ(remote_problem("traces", true),
            "it is no s3://bucket/key, no folder from the root and no exec:COMMAND");
  EXPECT_EQ(remote_problem("s3:///key", true), "it names no bucket");
  EXPECT_EQ(remote_problem("exec:", true), "there is no command");
  EXPECT_EQ(remote_problem("exec:a 'b", true), "a quote has no end");
  EXPECT_EQ(remote_problem("exec:a\\", true), "a backslash has nothing after it");
  EXPECT_EQ(remote_problem("s3://b/{rank", true), "a '{' has no '}' after it");
  EXPECT_EQ(remote_problem("s3://b/{batch}.json", true),
            "all ranks would write the same: end it with / or name {rank}");
  EXPECT_EQ(remote_problem("s3://b/{rank}.json", true),
            "all cycles would write the same: end it with / or name {batch}");
  for (const char* good : {"s3://b/{rank}-{batch}.json", "s3://b/p", "/x", "exec:a {}"}) {
    EXPECT_EQ(remote_problem(good, true), "") << good;
  }
  EXPECT_EQ(remote_problem("s3://b/node{node_rank}.json", false), "");
}

// The others may be a password.
TEST(RemoteTarget, OfACommandTheFirstWordIsShown) {
  EXPECT_EQ(shown_target("exec:put -p secret {}"), "exec:put ...");
  EXPECT_EQ(shown_target("exec: \tput\tsecret"), "exec:put ...");
  EXPECT_EQ(shown_target("exec:'my put' secret"), "exec:'my ...");
  EXPECT_EQ(shown_target("exec:put "), "exec:put");
  EXPECT_EQ(shown_target("exec:"), "exec:");
  EXPECT_EQ(shown_target("s3://bucket/a b/"), "s3://bucket/a b/");
}

}  // namespace
}  // namespace traceagent::config
