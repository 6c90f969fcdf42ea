#include "agent/process/run_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/trace/document.hpp"
#include "agent/trace/merge.hpp"

namespace traceagent::process {
namespace {

class RunFilesTest : public testing::Test {
 protected:
  RunFilesTest() {
    std::string name = "/tmp/traceagent-run-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~RunFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, std::int64_t rank, const std::string& run_key,
                    std::int64_t node_rank, bool gzip = false) {
    trace::OutputFile file;
    trace::OutputOptions options;
    options.gzip = gzip;
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(file.open(path, options));
    trace::DocumentHeader header;
    header.rank = rank;
    header.world_size = 8;
    header.run_key = run_key;
    header.node_rank = node_rank;
    header.host = host_;
    header.trace_name = name;
    header.base_ns = base_ns_;
    trace::write_header(file, header);
    trace::write_footer(file, "{}");
    EXPECT_TRUE(file.finish());
    return path;
  }

  std::string folder_;
  std::int64_t base_ns_ = 0;
  std::string host_;
};

TEST_F(RunFilesTest, KnowTheRun) {
  for (const bool gzip : {false, true}) {
    const auto file = run_file(write("a.json", 5, "slurm7", 2, gzip), "slurm7");
    ASSERT_TRUE(file.has_value()) << gzip;
    EXPECT_EQ(file->rank, 5);
    EXPECT_EQ(file->node_rank, 2);
    EXPECT_FALSE(file->is_merged);
  }
  EXPECT_FALSE(run_file(folder_ + "/a.json", "slurm70"));
  EXPECT_FALSE(run_file(folder_ + "/a.json", ""));
  EXPECT_FALSE(run_file(folder_ + "/missing.json", "slurm7"));
}

TEST_F(RunFilesTest, AMergedFileIsOfItsRanksRun) {
  const std::string node = folder_ + "/node2.json";
  const trace::MergeReport report =
      trace::merge({write("a.json", 4, "k", 2), write("b.json", 5, "k", 2)}, node);
  ASSERT_EQ(report.problem, "");
  const auto file = run_file(node, "k");
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->is_merged);
  EXPECT_EQ(file->node_rank, 2);
  ASSERT_EQ(file->begins.size(), 2u);
  EXPECT_EQ(file->begins[0].rank, 4);
  EXPECT_EQ(file->begins[1].rank, 5);
}

TEST_F(RunFilesTest, OtherFilesAreNone) {
  std::ofstream(folder_ + "/text.json") << "[]\n";
  EXPECT_FALSE(run_file(folder_ + "/text.json", "k"));
  EXPECT_FALSE(run_file(folder_, "k"));
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(run_file(folder_ + "/pipe", "k")) << "and does not wait for a writer";
  write("a.json", 0, "k", 0);
  std::filesystem::create_symlink(folder_ + "/a.json", folder_ + "/link.json");
  EXPECT_FALSE(run_file(folder_ + "/link.json", "k"));
}

TEST_F(RunFilesTest, OfANodeAreSeenAsTheyAppear) {
  NodeRankFiles files(folder_, "k", 1);
  EXPECT_TRUE(files.look().empty());
  write("r2.json", 2, "k", 1);
  write("r0.json", 0, "k", 0);
  write("other.json", 3, "another", 1);
  ASSERT_EQ(files.look().size(), 1u);
  EXPECT_EQ(files.look()[0].rank, 2);
  write("r3.json", 3, "k", 1, true);
  ASSERT_EQ(files.look().size(), 2u);
  EXPECT_EQ(files.look()[1].rank, 3);
  NodeRankFiles nowhere("/no/such/folder", "k", 1);
  EXPECT_TRUE(nowhere.look().empty());
}

// Ranks of two nodes may guess one number.
TEST_F(RunFilesTest, OfANodeWhoseNumberIsAGuessAreOfItsHost) {
  host_ = "a";
  write("r2.json", 2, "k", 1);
  host_ = "b";
  write("r3.json", 3, "k", 1);
  NodeRankFiles of_host(folder_, "k", 1, 0, "a");
  ASSERT_EQ(of_host.look().size(), 1u);
  EXPECT_EQ(of_host.look()[0].rank, 2);
  NodeRankFiles of_number(folder_, "k", 1);
  EXPECT_EQ(of_number.look().size(), 2u);
}

TEST_F(RunFilesTest, AnOlderRunsFileMayBeReplaced) {
  constexpr std::int64_t since_ns = 1000;
  NodeRankFiles files(folder_, "k", 1, since_ns);
  write("r2.json", 2, "k", 1);
  EXPECT_TRUE(files.look().empty());
  base_ns_ = since_ns;
  std::filesystem::rename(write("new.json", 2, "k", 1), folder_ + "/r2.json");
  EXPECT_EQ(files.look().size(), 1u);
  EXPECT_EQ(files.look().size(), 1u);
}

}  // namespace
}  // namespace traceagent::process
