#include "tools/import/sagemaker_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/import/import.hpp"
#include "tools/selection/event_selection.hpp"

namespace traceagent::tools {
namespace {

std::string file_of(const std::string& process, const std::string& more = "pythontimeline") {
  return "/a/1594662624718694_" + process + "_" + more + ".json";
}

TEST(SageMakerName, IsOfAProcessAndAWriter) {
  const auto name = sagemaker_name(file_of("4422-algo-1", "horovod_timeline") + ".gz");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->process, "4422-algo-1");
  EXPECT_EQ(name->number, 4422);
  EXPECT_EQ(name->host, "algo-1");
  EXPECT_EQ(name->writer, "horovod_timeline");
  const auto dotted = sagemaker_name("159_88359-8c859046be41.ant.example.com_model_timeline.json");
  ASSERT_TRUE(dotted);
  EXPECT_EQ(dotted->host, "8c859046be41.ant.example.com");
  EXPECT_EQ(dotted->writer, "model_timeline");
  for (const char* old : {"0001", "4487_0000", "-algo-1", "99999999999999999999-algo-1"}) {
    const auto unnumbered = sagemaker_name(file_of(old));
    ASSERT_TRUE(unnumbered) << old;
    EXPECT_EQ(unnumbered->process, old);
    EXPECT_FALSE(unnumbered->number) << old;
    EXPECT_EQ(unnumbered->host, old);
  }
  for (const char* name :
       {"/1_2-algo-1_pythontimeline.json/x.json", "_2-algo-1_pythontimeline.json",
        "1_pythontimeline.json", "x1_2-algo-1_pythontimeline.json",
        "1_2-algo-1_merged_timeline.json", "1_2-algo-1_pythontimeline.json.tmp",
        "1__pythontimeline.json", "algo-1.trace.json.gz", ""}) {
    EXPECT_FALSE(sagemaker_name(name)) << name;
  }
}

std::vector<std::int64_t> ranks_of(const std::vector<std::string>& processes,
                                   std::set<std::int64_t> taken = {}) {
  SageMakerRanks ranks;
  for (const std::string& process : processes) ranks.add(*sagemaker_name(file_of(process)));
  ranks.find(taken);
  std::vector<std::int64_t> found;
  for (const std::string& process : processes) found.push_back(ranks.rank(process));
  return found;
}

TEST(SageMakerRanks, AreTheNumbersWhereTheseCanBeNoPids) {
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks_of({"1-algo-2", "0-algo-1", "1-algo-2"}), (Ranks{1, 0, 1}));
  EXPECT_EQ(ranks_of({"2-algo-1", "0-algo-1"}, {0}), (Ranks{2, 0}));
  // Pids, of which two are the same; none is 0.
  EXPECT_EQ(ranks_of({"0-algo-2", "0-algo-1"}), (Ranks{1, 0}));
  EXPECT_EQ(ranks_of({"77-algo-10", "90-algo-2", "9-algo-10"}), (Ranks{2, 0, 1}));
  EXPECT_EQ(ranks_of({"77-algo-2", "4422-algo-1"}, {0, 2}), (Ranks{3, 1}));
  EXPECT_EQ(ranks_of({"0-algo-1", "1-algo-2", "0-algo-2"}), (Ranks{0, 2, 1}));
}

// A name that only looks like the others has no say in what theirs mean.
TEST(SageMakerRanks, AreTheNumbersOfThoseThatCanBeRanks) {
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(ranks_of({"0001", "0-algo-1"}), (Ranks{1, 0}));
  EXPECT_EQ(ranks_of({"5-algo-3", "run2", "0-algo-1", "2000000-algo-1"}, {1}), (Ranks{5, 3, 0, 2}));
  SageMakerRanks ranks;
  for (const char* process : {"0-algo-1", "1-algo-1", "my_own"}) {
    ranks.add(*sagemaker_name(file_of(process)));
  }
  std::set<std::int64_t> taken;
  ranks.find(taken);
  EXPECT_TRUE(ranks.is_number(*sagemaker_name(file_of("1-algo-1"))));
  EXPECT_FALSE(ranks.is_number(*sagemaker_name(file_of("my_own"))));
}

TEST(SageMakerRanks, AreThoseThatAreKnown) {
  SageMakerRanks ranks;
  for (const char* process : {"5-algo-1", "6-algo-1", "7-algo-1"}) {
    ranks.add(*sagemaker_name(file_of(process)));
  }
  ranks.add_known("6-algo-1", 1);
  ranks.add_known("6-algo-1", 4);
  std::set<std::int64_t> taken;
  ranks.find(taken);
  EXPECT_EQ(ranks.rank("5-algo-1"), 0);
  EXPECT_EQ(ranks.rank("6-algo-1"), 1);
  EXPECT_EQ(ranks.rank("7-algo-1"), 2);
  EXPECT_EQ(taken, (std::set<std::int64_t>{0, 1, 2}));
}

class SageMakerImport : public ::testing::Test {
 protected:
  static constexpr std::int64_t start_ns = 1'594'662'605'425'850'000;
  std::string file(const std::string& name, int ts, const std::string& phase = "X") {
    const std::string text =
        R"([{"name":"process_name","ph":"M","pid":0,"args":{"start_time_since_epoch_in_micros":)"
        R"(1594662605425850}},{"name":"process_name","ph":"M","pid":1,"args":{"name":"Step"}},)"
        R"({"name":"e","ph":")" +
        phase + R"(","pid":1,"dur":1,"ts":)" + std::to_string(ts) + "}]";
    trace::write_whole(folder_ / name, text);
    return folder_ / name;
  }
  std::vector<std::int64_t> import(const std::vector<std::string>& files,
                                   ImportOptions options = {}) {
    options.folder = folder_.path().string();
    const ImportedTraces imported(files, options);
    std::vector<std::string> paths = imported.paths();
    paths.insert(paths.end(), options.own_files.begin(), options.own_files.end());
    nodes_ = clock_nodes(paths);
    EXPECT_EQ(trace::merge(paths, folder_ / "merged", merging_).problem, "");
    std::vector<std::int64_t> ranks;
    for (const ImportedFile& each : imported.files()) ranks.push_back(each.ranks.at(0));
    return ranks;
  }

  trace::ScratchFolder folder_;
  std::vector<ClockNode> nodes_;
  trace::MergeOptions merging_;
};

// From 10 us to 30 us, begun in one file and ended in the next but one.
TEST_F(SageMakerImport, ASliceThatEndsInALaterFileIsOneInAnyWindow) {
  const std::vector<std::string> files = {file("1_0-algo-1_pythontimeline.json", 10, "B"),
                                          file("2_0-algo-1_pythontimeline.json", 20),
                                          file("3_0-algo-1_pythontimeline.json", 30, "E"),
                                          // Another process's, and another writer's.
                                          file("2_1-algo-1_pythontimeline.json", 15, "E"),
                                          file("2_0-algo-1_model_timeline.json", 16, "E")};
  const auto times_in = [&](std::int64_t from_us, std::int64_t to_us) {
    EventRules rules;
    rules.window = {start_ns + from_us * 1000, start_ns + to_us * 1000};
    EventSelection selection(rules, {});
    merging_.selection = &selection;
    import(files);
    std::vector<std::int64_t> times_us;
    for (const std::int64_t ns : trace::read_trace(folder_ / "merged").times_ns) {
      times_us.push_back((ns - start_ns) / 1000);
    }
    EXPECT_EQ(selection.counts().events[static_cast<std::size_t>(Verdict::unpaired)], 2U);
    return times_us;
  };
  using Times = std::vector<std::int64_t>;
  EXPECT_EQ(times_in(25, 28), (Times{10, 30}));
  EXPECT_EQ(times_in(0, 20), (Times{10, 20, 30}));
  EXPECT_EQ(times_in(31, 40), Times{});
  EXPECT_EQ(times_in(0, 9), Times{});
}

TEST_F(SageMakerImport, HasOneRankForEachProcessWheneverItsFilesCome) {
  const auto first = import({file("30_78-algo-2_pythontimeline.json", 1),
                             file("31_4422-algo-1_pythontimeline.json", 2),
                             file("32_77-algo-2_horovod_timeline.json", 3)});
  EXPECT_EQ(first, (std::vector<std::int64_t>{2, 0, 1}));
  std::filesystem::rename(folder_ / "merged", folder_ / "before.json");
  ImportOptions options;
  options.own_files = {folder_ / "before.json"};
  // The files beside them do not decide: 5-algo-1 would have been first.
  const auto again = import(
      {file("40_78-algo-2_model_timeline.json", 4), file("41_5-algo-1_pythontimeline.json", 5),
       file("42_77-algo-2_pythontimeline.json", 6)},
      options);
  EXPECT_EQ(again, (std::vector<std::int64_t>{2, 3, 1}));
}

TEST_F(SageMakerImport, ARankThatIsGivenForOneFileIsTheProcessesOwn) {
  const std::vector<std::string> files = {file("30_4422-algo-1_pythontimeline.json", 1),
                                          file("31_4422-algo-1_model_timeline.json", 2),
                                          file("32_77-worker-3_pythontimeline.json", 3)};
  ImportOptions options;
  options.ranks[files[1]] = 6;
  EXPECT_EQ(import(files, options), (std::vector<std::int64_t>{6, 6, 0}));
}

TEST_F(SageMakerImport, TakesAProfileOfTensorFlowsForItsProcesses) {
  const std::string folder = folder_ / "hour/000000002";
  std::filesystem::create_directories(folder + "/plugins/profile/2020_07_13");
  const std::string path = folder + "/plugins/profile/2020_07_13/ip-10-0-0-7.trace.json.gz";
  trace::write_whole(path,
                     R"({"traceEvents":[{"name":"op","ph":"X","pid":7,"tid":1,"dur":1,"ts":5}]})");
  EXPECT_FALSE(sagemaker_profile(path));
  for (const char* other : {"a.metadata", "4422-algo-1_x_2.metadata", "_1_2.metadata",
                            "1_2.metadata", "4422-algo-1_99999999999999999_2.metadata"}) {
    trace::write_whole(folder + "/" + other, "");
  }
  EXPECT_FALSE(sagemaker_profile(path));
  trace::write_whole(folder + "/4422-algo-1_1594662605425900_1594662605999999.metadata", "");
  const auto ranks = import({file("30_77-algo-2_pythontimeline.json", 1),
                             file("31_4422-algo-1_pythontimeline.json", 2), path});
  EXPECT_EQ(ranks, (std::vector<std::int64_t>{1, 0, 0}));
  const trace::ReadTrace read = trace::read_trace(folder_ / "merged");
  EXPECT_EQ(read.times_ns.back(), 1'594'662'605'425'905'000);
  // Another host's, whose own mark is not here; and one of two hosts' that are called otherwise.
  EXPECT_FALSE(sagemaker_profile(folder + "/plugins/profile/2020_07_13/algo-2.trace.json.gz"));
  const std::string second = folder + "/plugins/profile/2020_07_14/ip-10-0-0-8.trace.json.gz";
  std::filesystem::create_directories(folder + "/plugins/profile/2020_07_14");
  trace::write_whole(second, "");
  EXPECT_FALSE(sagemaker_profile(path));
  std::filesystem::remove(second);
  EXPECT_TRUE(sagemaker_profile(path));
  // Whose is it, of two?
  trace::write_whole(folder + "/77-algo-2_1594662605425900_1594662605999999.metadata", "");
  EXPECT_FALSE(sagemaker_profile(path));
  const std::string of_host = folder + "/plugins/profile/2020_07_13/algo-2.trace.json.gz";
  EXPECT_EQ(sagemaker_profile(of_host).value().name.process, "77-algo-2");
}

TEST_F(SageMakerImport, HasOneClockForEachHost) {
  import({file("30_0-algo-1_pythontimeline.json", 1), file("31_1-algo-1_pythontimeline.json", 2),
          file("32_2-algo-2_pythontimeline.json", 3), file("rank7.json", 4)});
  std::vector<std::pair<std::string, std::set<std::int64_t>>> found;
  for (const ClockNode& node : nodes_) found.emplace_back(node.name, node.ranks);
  EXPECT_EQ(found, (decltype(found){{"algo-1", {0, 1}}, {"algo-2", {2}}, {"rank 7", {7}}}));
}

}  // namespace
}  // namespace traceagent::tools
