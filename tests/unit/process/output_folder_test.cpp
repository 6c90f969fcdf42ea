#include "agent/process/output_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "agent/process/older_run.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/output_file.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

class OutputFolderTest : public testing::Test {
 protected:
  OutputFolderTest() { std::filesystem::create_directory(output); }

  void write_trace(const std::string& name, const std::string& run_key,
                   std::int64_t rank = 9) const {
    trace::OutputFile file;
    ASSERT_TRUE(file.open(output + "/" + name));
    trace::DocumentHeader header;
    header.run_key = run_key;
    header.rank = rank;
    trace::write_header(file, header);
    trace::write_footer(file, "{}");
    ASSERT_TRUE(file.finish());
  }
  FolderVerdict check(const std::string& run_key = "this run") {
    return check_output_folder(run, output, run_key, {}, earlier, pid);
  }

  trace::ScratchFolder scratch;
  const std::string output = scratch / "traces";
  const RunFolder run = make_run_folder(scratch.path().string(), "key");
  EarlierRun earlier{0, 2'000'000'000'000'000'000};
  static constexpr int pid = 4711;
};

TEST_F(OutputFolderTest, EmptyOrMissingIsUsable) {
  EXPECT_TRUE(check().usable);
  EXPECT_TRUE(check_output_folder({}, scratch / "missing", "this run", {}, earlier, pid).usable);
}

TEST_F(OutputFolderTest, AnybodysFileIsRefusedByOneAndForAll) {
  trace::write_whole(output + "/notes.txt", "mine");
  const FolderVerdict first = check();
  EXPECT_FALSE(first.usable);
  EXPECT_NE(first.problem.find("notes.txt"), std::string::npos) << first.problem;
  EXPECT_NE(first.problem.find("TRACEAGENT_OUTPUT_OVERWRITE"), std::string::npos);
  const FolderVerdict second = check();
  EXPECT_FALSE(second.usable);
  EXPECT_EQ(second.problem, "") << "said once";
}

TEST_F(OutputFolderTest, WhatAKeeperSaidOfAnEarlierRunIsNoTrace) {
  trace::write_whole(output + "/keeper-node0.log", "recovered");
  trace::write_whole(output + "/keeper-node12.log", "recovered");
  EXPECT_TRUE(check().usable);
}

TEST_F(OutputFolderTest, ALogOfAnothersIsRefused) {
  for (const char* name : {"keeper-node.log", "keeper-node0.log.json", "keeper-nodes.log"}) {
    trace::write_whole(output + "/" + name, "mine");
    const RunFolder other = make_run_folder(scratch.path().string(), name);
    EXPECT_FALSE(check_output_folder(other, output, "this run", {}, earlier, pid).usable) << name;
    std::filesystem::remove(output + "/" + name);
  }
}

TEST_F(OutputFolderTest, ARankThatLooksLaterSeesWhatTheFirstSaw) {
  EXPECT_TRUE(check().usable);
  trace::write_whole(output + "/ep0-ba5-rank0.json", "a rank was quick");
  EXPECT_TRUE(check().usable);
}

TEST_F(OutputFolderTest, HiddenFilesAndThoseOfTheRunDoNotCount) {
  trace::write_whole(output + "/.nfs0001", "");
  write_trace("ep0-ba5-rank9.json", "this run");
  EXPECT_TRUE(check().usable);
}

TEST_F(OutputFolderTest, TheRunsIndexAndTracesThatAreWaitedForDoNotCount) {
  std::filesystem::create_directories(output + "/index");
  trace::write_whole(output + "/host.pt.trace.json.gz", "the job's profiler was quick");
  EXPECT_TRUE(
      check_output_folder(run, output, "this run", {"*.pt.trace.json*"}, earlier, pid).usable);
}

TEST_F(OutputFolderTest, AFileOrAFolderOfAnotherNameDoes) {
  trace::write_whole(output + "/index", "a file");
  EXPECT_FALSE(
      check_output_folder(run, output, "this run", {"*.pt.trace.json*"}, earlier, pid).usable);
}

TEST_F(OutputFolderTest, TracesOfAnotherRunDo) {
  write_trace("ep0-ba5-rank9.json", "another run");
  EXPECT_FALSE(check().usable);
}

TEST_F(OutputFolderTest, AnEarlierRunOfTheKeyIsNotedOnceAndForAll) {
  write_trace("ep0-ba5-rank0.json", "this run", 0);
  EXPECT_TRUE(check().usable);
  const OlderRun older = older_run(run);
  EXPECT_EQ(older.until_ns, earlier.until_ns());
  EXPECT_GT(older.until_ns, 0);
  EXPECT_EQ(older.pid, pid);
}

TEST_F(OutputFolderTest, AlsoOneThatIsToBeOverwrittenAndWithoutAFolderForNotes) {
  trace::write_whole(output + "/notes.txt", "mine");
  write_trace("ep0-ba5-rank0.json", "this run", 0);
  const FolderVerdict verdict = check_output_folder({}, output, "this run", {"*"}, earlier, pid);
  EXPECT_TRUE(verdict.usable);
  EXPECT_EQ(verdict.older_until_ns, earlier.until_ns());
  EXPECT_GT(verdict.older_until_ns, 0);
}

TEST_F(OutputFolderTest, OtherRanksFilesAreNoEarlierRun) {
  write_trace("ep0-ba5-rank9.json", "this run");
  EXPECT_TRUE(check().usable);
  EXPECT_EQ(older_run_until_ns(run), 0);
}

TEST_F(OutputFolderTest, WhoComesLaterNotesTheEarlierRunOfItsRank) {
  write_trace("ep0-ba5-rank9.json", "this run");
  EXPECT_TRUE(check().usable);
  EarlierRun of_nine(9, 2'000'000'000'000'000'000);
  EXPECT_TRUE(check_output_folder(run, output, "this run", {}, of_nine, 4712).usable);
  EXPECT_GT(older_run(run).until_ns, 0);
  EXPECT_EQ(older_run(run).pid, 4712);
}

TEST_F(OutputFolderTest, WaitsForTheVerdictOfWhoCameFirst) {
  trace::write_whole(run.path + "/output", "");
  std::thread first([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    trace::write_whole(run.path + "/output", "refused");
  });
  EXPECT_FALSE(check().usable);
  first.join();
}

}  // namespace
}  // namespace traceagent::process
