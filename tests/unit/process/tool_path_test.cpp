#include "agent/process/tool_path.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

namespace fs = std::filesystem;

constexpr uid_t stranger = 12'345;

class ToolPathTest : public testing::Test {
 protected:
  ToolPathTest() {
    for (const char* folder : {"bin", "lib/x86_64-linux-gnu", "alice"}) {
      fs::create_directories(prefix_ + "/" + folder);
    }
    chmod(prefix_.c_str(), 0755);
    chmod(bin_.c_str(), 0755);
    trace::write_whole(tool_, "#!/bin/sh\n");
    chmod(tool_.c_str(), 0755);
  }
  ToolPath found(const std::string& folder = "lib", uid_t owner = geteuid()) const {
    return tool_beside(prefix_ + "/" + folder + "/libtraceagent.so", owner, "tool");
  }
  void expect_refused(const std::string& word, const std::string& folder = "lib") const {
    const ToolPath path = found(folder);
    EXPECT_EQ(path.path, "");
    EXPECT_NE(path.problem.find(word), std::string::npos) << path.problem;
  }

  trace::ScratchFolder scratch_;
  std::string prefix_ = fs::canonical(scratch_ / "").string() + "/prefix";
  std::string bin_ = prefix_ + "/bin", tool_ = bin_ + "/tool";
};

TEST_F(ToolPathTest, IsBesideLibOrLibOfTheMachine) {
  EXPECT_EQ(found("lib").path, tool_);
  EXPECT_EQ(found("lib/x86_64-linux-gnu").path, tool_);
  expect_refused("does not lie in lib/", "alice");
  expect_refused("does not lie in lib/", "lib/alice");
  expect_refused("use the library where it was built, or copy both folders", "alice");
}

TEST_F(ToolPathTest, SaysThatThereIsNone) {
  fs::remove(tool_);
  expect_refused(tool_ + ", beside the library: No such file");
  expect_refused("build it, or copy " + bin_ + " with the library");
}

TEST_F(ToolPathTest, OthersMayNotWriteItOrItsFolders) {
  for (const std::string& path : {tool_, bin_, prefix_}) {
    chmod(path.c_str(), 0757);
    expect_refused("chmod go-w " + path);
    chmod(path.c_str(), 0755);
  }
  EXPECT_EQ(found().path, tool_);
}

TEST_F(ToolPathTest, AGroupMayWriteItThatIsTheOwnersAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files to any group";
  chmod(tool_.c_str(), 0775);
  EXPECT_EQ(found().path, tool_);
  ASSERT_EQ(chown(tool_.c_str(), 0, stranger), 0);
  expect_refused("chmod go-w " + tool_);
}

TEST_F(ToolPathTest, IsRootsOrOursOrOfTheLibrarysOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  for (const std::string& path : {tool_, bin_, prefix_}) {
    ASSERT_EQ(chown(path.c_str(), stranger, stranger), 0);
    expect_refused(path + " belongs to another user (12345)");
    EXPECT_EQ(found("lib", stranger).path, tool_);
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
}

TEST_F(ToolPathTest, IsNoLink) {
  fs::rename(tool_, prefix_ + "/elsewhere");
  fs::create_symlink(prefix_ + "/elsewhere", tool_);
  expect_refused(tool_ + " is not a file itself");
  fs::remove(tool_);
  fs::rename(prefix_ + "/elsewhere", tool_);
  fs::rename(bin_, prefix_ + "/other");
  fs::create_directory_symlink("other", bin_);
  expect_refused(bin_ + " is not a folder itself");
}

TEST_F(ToolPathTest, IsLookedForBesideWhatThisCodeIsPartOf) {
  EXPECT_NE(find_tool("traceagent").problem.find("does not lie in lib/"), std::string::npos)
      << "these tests lie in bin/";
}

}  // namespace
}  // namespace traceagent::process
