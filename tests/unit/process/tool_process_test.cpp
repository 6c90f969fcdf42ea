#include "agent/process/tool_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

namespace traceagent::process {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
std::atomic<int> deaths{0};

ToolEnd shell(const std::string& script, std::uint64_t timeout_ns = 20 * second_ns) {
  return run_tool({"/bin/sh", "-c", script}, timeout_ns);
}

class ToolProcess : public testing::Test {
 protected:
  void SetUp() override {
    keep_environment();
    deaths = 0;
    signal(SIGCHLD, [](int) { ++deaths; });
  }
  void TearDown() override { signal(SIGCHLD, SIG_DFL); }
};

TEST_F(ToolProcess, TellsWhatItSaidAndHowItEnded) {
  const ToolEnd end = shell("echo out; echo err >&2; printf '\\nexit 3\\n'; exit 3");
  EXPECT_EQ(end.problem, "");
  EXPECT_TRUE(end.ended);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.said, "out\nerr\n");
}

TEST_F(ToolProcess, IsNoChildOfTheJob) {
  ASSERT_TRUE(shell("true").ended);
  EXPECT_EQ(start_tool({"/bin/true"}), "");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(deaths, 0);
}

TEST_F(ToolProcess, IsKilledWhenItsTimeIsOver) {
  const ToolEnd end = shell("echo $$; sleep 60", second_ns / 5);
  EXPECT_FALSE(end.ended);
  EXPECT_EQ(end.exit_code, -1);
  const pid_t pid = std::stoi(end.said);
  const auto is_gone = [&] {
    std::ifstream state("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, letter;
    return !(state >> id >> name >> letter) || letter == "Z";  // nobody may be there to reap it
  };
  for (int i = 0; i < 1000 && !is_gone(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_gone());
}

// A job may ignore the signal that asks it to.
TEST_F(ToolProcess, MayRemoveWhatItHasWrittenByHalves) {
  char name[] = "/tmp/traceagent-test-XXXXXX";
  const std::string half = std::string(mkdtemp(name)) + "/half";
  signal(SIGALRM, SIG_IGN);
  const ToolEnd end = shell(
      "trap 'rm " + half + "; exit' ALRM; : > " + half + "; echo made; while :; do sleep 0.1; done",
      second_ns);
  signal(SIGALRM, SIG_DFL);
  EXPECT_FALSE(end.ended);
  EXPECT_EQ(end.said, "made\n");
  EXPECT_EQ(rmdir(name), 0) << "the half file is there still";
}

TEST_F(ToolProcess, HasTheJobsEnvironmentWithoutOurs) {
  setenv("AWS_REGION", "kept", 1);
  setenv("TRACEAGENT_RANK", "7", 1);
  setenv("NCCL_PROFILER_PLUGIN", "ours", 1);
  setenv("LD_LIBRARY_PATH", "/jobs", 1);
  keep_environment();
  const ToolEnd end = shell(
      "echo \"$AWS_REGION,$TRACEAGENT_RANK,$NCCL_PROFILER_PLUGIN,$LD_LIBRARY_PATH,"
      "$TRACEAGENT_JOBS_LD_LIBRARY_PATH\"");
  for (const char* name :
       {"AWS_REGION", "TRACEAGENT_RANK", "NCCL_PROFILER_PLUGIN", "LD_LIBRARY_PATH"}) {
    unsetenv(name);
  }
  EXPECT_EQ(end.said, "kept,,,,/jobs\n");
}

// Each new name may move the list, and frees the one that was there.
TEST_F(ToolProcess, TheJobMaySetVariablesMeanwhile) {
  setenv("TOOL_PROCESS_TEST", "before", 1);
  keep_environment();
  std::atomic<bool> ends{false};
  std::thread job([&] {
    for (int i = 0; !ends; i = (i + 1) % 4096) {
      const std::string name = "TOOL_PROCESS_TEST_" + std::to_string(i);
      setenv(name.c_str(), std::string(64, 'x').c_str(), 1);
      if (i == 4095) {
        for (int gone = 0; gone < 4096; ++gone) {
          unsetenv(("TOOL_PROCESS_TEST_" + std::to_string(gone)).c_str());
        }
      }
    }
  });
  for (int i = 0; i < 20; ++i) {
    const ToolEnd end = shell("echo \"$TOOL_PROCESS_TEST,$(env | grep -c TOOL_PROCESS_TEST)\"");
    EXPECT_EQ(end.said, "before,1\n");
  }
  ends = true;
  job.join();
  for (int i = 0; i < 4096; ++i) unsetenv(("TOOL_PROCESS_TEST_" + std::to_string(i)).c_str());
  unsetenv("TOOL_PROCESS_TEST");
}

TEST_F(ToolProcess, HasNoneOfTheJobsDescriptorsAndASessionOfItsOwn) {
  const int mine = dup2(STDOUT_FILENO, 99);
  const ToolEnd end = shell("ls /proc/self/fd | grep -c 99; echo $$; cut -d' ' -f6 /proc/$$/stat");
  close(mine);
  std::istringstream lines(end.said);
  int found = -1, pid = 0, session = -1;
  lines >> found >> pid >> session;
  EXPECT_EQ(found, 0);
  EXPECT_EQ(session, pid);
}

TEST_F(ToolProcess, SaysWhyItCannotStart) {
  EXPECT_EQ(start_tool({"/nowhere/traceagent"}), "No such file or directory");
  EXPECT_EQ(run_tool({"/nowhere/traceagent"}, second_ns).problem, "No such file or directory");
}

TEST_F(ToolProcess, KeepsABoundedAmountOfWhatIsSaid) {
  const ToolEnd end = shell("yes | head -c 1000000; printf '\\nexit 0\\n'");
  EXPECT_TRUE(end.ended);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_LE(end.said.size(), 64u * 1024);
}

}  // namespace
}  // namespace traceagent::process
