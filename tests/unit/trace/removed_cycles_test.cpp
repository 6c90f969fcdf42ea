#include "agent/trace/removed_cycles.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

std::string saved(const char* file, int rank, int begin_ns = 100) {
  return "{\"saved\": \"" + std::string(file) + "\", \"rank\": " + std::to_string(rank) +
         ", \"begin_ns\": " + std::to_string(begin_ns) + "}";
}

std::string gone(const char* how, const char* file) {
  return "{\"" + std::string(how) + "\": \"" + file + "\", \"time_ns\": 1}";
}

class RemovedCyclesTest : public testing::Test {
 protected:
  RemovedCyclesTest() { std::filesystem::create_directory(folder_ / "index"); }

  void write_index(const std::string& name, const std::vector<std::string>& entries,
                   const char* run = "a") {
    std::ofstream file(folder_ / ("index/" + name));
    file << "{\"run_key\": \"" << run << "\", \"entries\": [";
    for (std::size_t i = 0; i < entries.size(); ++i) file << (i == 0 ? "\n" : ",\n") << entries[i];
    file << "\n]}\n";
  }
  void merge_of(int rank, const std::string& path) {
    merge_.ranks.push_back(rank);
    merge_.sources.push_back("{\"name\": \"" + path + "\", \"rank\": " + std::to_string(rank) +
                             "}");
  }
  std::string words(std::int64_t since_ns = 0) const {
    return in_words(removed_cycles(folder_.path().string(), "a", merge_, since_ns));
  }

  ScratchFolder folder_;
  MergeReport merge_;
};

TEST_F(RemovedCyclesTest, are_counted_by_what_removed_them) {
  merge_of(0, "/out/3.json");
  EXPECT_EQ(words(), "") << "no index";
  write_index("index.json", {saved("3.json", 0)});
  EXPECT_EQ(words(), "");
  write_index("index.json", {saved("1.json", 0), saved("2.json", 0), gone("removed", "1.json"),
                             gone("removed", "1.json"), saved("3.json", 0)});
  EXPECT_EQ(words(), "; without 1 cycle that was removed (1 by output.keep)");
  write_index("index.json", {saved("0.json", 0), saved("1.json", 0), saved("2.json", 0),
                             gone("removed", "1.json"), gone("left_out", "0.json"),
                             gone("removed", "2.json"), saved("3.json", 0)});
  EXPECT_EQ(words(), "; without 3 cycles that were removed (2 by output.keep, 1 by upload.queue)");
}

// With `output.overwrite`. The same cycle may be told of twice.
TEST_F(RemovedCyclesTest, are_those_too_whose_name_a_later_one_took) {
  const auto saved_at = [](int base_ns) {
    std::string entry = saved("rank0.json", 0);
    entry.pop_back();
    return entry + ", \"base_ns\": " + std::to_string(base_ns) + "}";
  };
  merge_.ranks = {0};
  merge_.sources = {R"({"name": "rank0.json", "rank": 0, "baseTimeNanoseconds": 30})"};
  write_index("index.json", {saved_at(30), saved_at(30)});
  EXPECT_EQ(words(), "");
  write_index("index.json", {saved_at(10), saved_at(20), saved_at(30)});
  EXPECT_EQ(words(), "; without 2 cycles that were removed (2 by output.overwrite)");
}

TEST_F(RemovedCyclesTest, are_not_those_that_an_older_merged_file_holds) {
  merge_of(0, "/moved/since/c1/rank0.json");
  write_index("index.json", {saved("c1/rank0.json", 0), saved("c2/rank0.json", 0),
                             gone("removed", "c1/rank0.json"), gone("removed", "c2/rank0.json")});
  EXPECT_EQ(words(), "; without 1 cycle that was removed (1 by output.keep)");
}

// A file is told by where its times begin, not by the end of its path.
TEST_F(RemovedCyclesTest, are_those_of_the_merge_by_their_beginning) {
  merge_.ranks = {0};
  merge_.sources = {R"({"name": "/out/c2/rank0.json", "rank": 0, "baseTimeNanoseconds": 7})"};
  const auto with_base = [](const char* file, int base_ns) {
    return "{\"saved\": \"" + std::string(file) + "\", \"rank\": 0, \"begin_ns\": 100, " +
           "\"base_ns\": " + std::to_string(base_ns) + "}";
  };
  write_index("index.json", {with_base("rank0.json", 6), gone("removed", "rank0.json")});
  EXPECT_EQ(words(), "; without 1 cycle that was removed (1 by output.keep)");
  write_index("index.json", {with_base("rank0-pid7.json", 7), gone("removed", "rank0-pid7.json")});
  EXPECT_EQ(words(), "");
}

TEST_F(RemovedCyclesTest, are_counted_where_the_uploader_was_before_its_rank) {
  merge_of(0, "2.json");
  write_index("index.json", {gone("removed", "1.json"), saved("1.json", 0), saved("2.json", 0)});
  EXPECT_EQ(words(), "; without 1 cycle that was removed (1 by output.keep)");
}

TEST_F(RemovedCyclesTest, are_not_those_that_stay_though_nobody_uploads_them) {
  merge_of(0, "2.json");
  write_index("index.json",
              {saved("1.json", 0), saved("2.json", 0),
               R"({"left_out": "1.json", "why": "--forget", "target": "s3://gone/1.json"})"});
  EXPECT_EQ(words(), "");
}

TEST_F(RemovedCyclesTest, are_of_the_merge_s_ranks_and_run) {
  merge_of(0, "2.json");
  write_index("index.json",
              {saved("1.json", 0), saved("2.json", 0), saved("r1.json", 1), saved("old.json", 0, 5),
               gone("removed", "1.json"), gone("removed", "r1.json"), gone("removed", "old.json")});
  // Of names that the run's own have too.
  write_index("index-b.json",
              {saved("7.json", 0), saved("1.json", 0), saved("2.json", 0),
               gone("removed", "7.json"), gone("removed", "1.json")},
              "b");
  EXPECT_EQ(words(6), "; without 1 cycle that was removed (1 by output.keep)");
}

TEST_F(RemovedCyclesTest, are_counted_once_where_nodes_have_one_index_each) {
  merge_of(0, "2.json");
  const std::vector<std::string> node = {saved("1.json", 0), saved("2.json", 0),
                                         gone("removed", "1.json")};
  write_index("index-node0.json", node);
  write_index("index.json", node);
  EXPECT_EQ(words(), "; without 1 cycle that was removed (1 by output.keep)");
}

}  // namespace
}  // namespace traceagent::trace
