#include "tools/import/import_folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

TEST(ImportFolder, GoesWithAProcessThatASignalEnds) {
  const trace::ScratchFolder scratch;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU}) {
    const pid_t child = fork();
    if (child == 0) {
      ::signal(number, SIG_DFL);
      std::string problem;
      const std::string folder = make_import_folder(scratch.path().string(), problem);
      for (int i = 0; i < 300; ++i) {
        trace::write_whole(folder + "/a rather long name of a run " + std::to_string(i), "{");
      }
      if (!problem.empty() || std::filesystem::is_empty(folder)) _exit(1);
      raise(number);
      _exit(2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_TRUE(std::filesystem::is_empty(scratch.path())) << number;
  }
}

// Where others may write to the parent, a link may have taken the folder's name.
TEST(ImportFolder, RemovesNothingThroughALink) {
  namespace fs = std::filesystem;
  const trace::ScratchFolder scratch;
  const fs::path others = scratch.path() / "others", link = scratch.path() / "link";
  fs::create_directory(others);
  for (const char* name : {"one", "two"}) trace::write_whole((others / name).string(), "kept");
  fs::create_directory_symlink(others, link);
  remove_import_folder(link.string());
  EXPECT_FALSE(fs::exists(fs::symlink_status(link)));
  EXPECT_TRUE(fs::exists(others / "one"));
  EXPECT_TRUE(fs::exists(others / "two"));
}

TEST(ImportFolder, LeavesSignalsAsTheyWere) {
  const trace::ScratchFolder scratch;
  const auto before = ::signal(SIGINT, SIG_IGN);
  std::string problem;
  const std::string folder = make_import_folder(scratch.path().string(), problem);
  EXPECT_EQ(::signal(SIGINT, SIG_IGN), SIG_IGN);
  remove_import_folder(folder);
  ::signal(SIGINT, before);
  EXPECT_FALSE(std::filesystem::exists(folder));
  struct sigaction action {};
  sigaction(SIGTERM, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace traceagent::tools
