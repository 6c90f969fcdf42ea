#include "tools/foreign_inputs.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

class ForeignInputsTest : public ::testing::Test {
 protected:
  struct Said {
    bool is_fine = false;
    bool is_refused = false;
    std::string usage_problem;
    std::string out;
    std::string err;
    std::uint64_t events = 0;
    std::vector<std::int64_t> ranks;
  };

  std::string file(const std::string& name, const std::string& text) {
    trace::write_whole(folder_ / name, text);
    return folder_ / name;
  }

  Said give(const std::vector<std::string>& inputs, const ForeignOptions& options = {}) {
    const std::string output = folder_ / "out";
    const ForeignInputs foreign(trace_files(inputs), options, output, {});
    Said said;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    said.is_fine = foreign.print();
    said.out = testing::internal::GetCapturedStdout();
    said.err = testing::internal::GetCapturedStderr();
    said.is_refused = foreign.is_refused();
    said.usage_problem = foreign.usage_problem();
    const trace::MergeReport merged = trace::merge(foreign.paths(), output, {});
    said.events = merged.events;
    said.ranks = merged.ranks;
    return said;
  }

  trace::ScratchFolder folder_;
  const std::string trace_ = R"([{"ph":"i","pid":1,"tid":1,"ts":1}])";
};

TEST_F(ForeignInputsTest, OfOtherNodesRanksNothingIsIncluded) {
  const auto of_rank = [&](int rank) {
    return file("r" + std::to_string(rank) + ".json",
                R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
                    R"(}, "traceEvents": [{"ph":"i","pid":1,"tid":1,"ts":1}]})");
  };
  const std::string named = of_rank(2);
  of_rank(0);
  of_rank(3);
  file("rx.json", trace_);  // nobody knows whose
  ForeignOptions options;
  options.include = {folder_ / "r*.json", folder_ / "q*.json"};
  options.include_except = {"2-5", "7"};
  const Said said = give({named}, options);
  EXPECT_TRUE(said.is_fine) << said.err;
  EXPECT_EQ(said.ranks, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_NE(said.out.find("left out: " + (folder_ / "r3.json") + ": rank 3: --include-except\n"),
            std::string::npos)
      << said.out;
  EXPECT_EQ(trace::count_of(said.out, "left out: "), 1U) << said.out;
  EXPECT_NE(said.out.find("--include: " + (folder_ / "q*.json") + ": no file matches\n"),
            std::string::npos)
      << said.out;
}

TEST_F(ForeignInputsTest, WhatNamesNoRankIsIncludedByOneNode) {
  file("nobodys.json", trace_);
  fs::create_directory(folder_ / "claims");
  const auto include_in = [&](std::int64_t node, bool is_written) {
    const std::string own = folder_ / ("node" + std::to_string(node) + ".json");
    trace::write_sample(own, {.rank = node, .times_ns = {1}, .run_key = "k", .node_rank = node});
    ForeignOptions options;
    options.include = {folder_ / "nobodys.json"};
    options.include_except = {std::to_string(1 - node)};
    options.include_once = folder_ / "claims";
    const ForeignInputs foreign(trace_files({own}), options, folder_ / "out", {});
    if (is_written) foreign.keep_claims();
    testing::internal::CaptureStdout();
    EXPECT_TRUE(foreign.print());
    return std::pair(foreign.paths().size() > 1, testing::internal::GetCapturedStdout());
  };
  EXPECT_TRUE(include_in(0, false).first);
  EXPECT_TRUE(include_in(1, true).first) << "the other node's merge came to nothing";
  const auto [is_included, said] = include_in(0, true);
  EXPECT_FALSE(is_included);
  EXPECT_NE(said.find("left out: " + (folder_ / "nobodys.json") +
                      ": rank 2 (it names none): --include-once: node 1 has it\n"),
            std::string::npos)
      << said;
  EXPECT_TRUE(include_in(1, true).first) << "once more";
}

// The run's ranks are 0 to 3; node 0 has 0 and 1.
TEST_F(ForeignInputsTest, WhatIsOfNoNodeAloneIsIncludedByOneNode) {
  const auto of_rank = [&](const std::string& rank) {
    file("r" + rank + ".json", R"({"distributedInfo": {"rank": )" + rank +
                                   R"(}, "traceEvents": [{"ph":"i","pid":1,"tid":1,"ts":1}]})");
  };
  of_rank("0");
  of_rank("2");
  of_rank("9");  // which an earlier run left
  fs::create_directory(folder_ / "claims");
  const auto included_in = [&](std::int64_t node, const std::vector<std::string>& except) {
    const std::string own = folder_ / ("node" + std::to_string(node) + ".json");
    trace::write_sample(own,
                        {.rank = 2 * node, .times_ns = {1}, .run_key = "k", .node_rank = node});
    ForeignOptions options;
    options.include = {folder_ / "r*.json"};
    options.include_except = except;
    options.include_once = folder_ / "claims";
    const ForeignInputs foreign(trace_files({own}), options, folder_ / "out", {});
    foreign.keep_claims();
    testing::internal::CaptureStdout();
    EXPECT_TRUE(foreign.print());
    const std::string said = testing::internal::GetCapturedStdout();
    return std::pair(trace::merge(foreign.paths(), folder_ / "out").ranks, said);
  };
  using Ranks = std::vector<std::int64_t>;
  EXPECT_EQ(included_in(0, {"2-3"}).first, (Ranks{0, 9}));
  const auto [ranks, said] = included_in(1, {"0-1"});
  EXPECT_EQ(ranks, (Ranks{2}));
  EXPECT_NE(said.find("r9.json: rank 9: --include-once: node 0 has it\n"), std::string::npos)
      << said;
  // Only what is of no node alone is noted.
  const auto claims = [&] {
    return std::distance(fs::directory_iterator(folder_ / "claims"), fs::directory_iterator());
  };
  EXPECT_EQ(claims(), 1);
  // Where nobody knows whose the ranks are, all of them are such.
  EXPECT_EQ(included_in(0, {}).first, (Ranks{0, 2, 9}));
  EXPECT_EQ(included_in(1, {}).first, (Ranks{2})) << "its own file's rank";
  EXPECT_EQ(claims(), 3);
}

// The output is to say what is not in it.
TEST_F(ForeignInputsTest, WhereAllThatWasFoundIsRefusedTheOutputIsWrittenAgain) {
  const std::string node = folder_ / "node.json";
  trace::write_sample(node, {.times_ns = {1}});
  const auto given = [&](const std::string& pattern) {
    ForeignOptions options;
    options.include = {folder_ / pattern};
    return std::make_unique<ForeignInputs>(trace_files({node}), options, node,
                                           ForeignInputs::Progress());
  };
  EXPECT_TRUE(given("x*")->adds_nothing_to(node));
  file("x.json", "no trace");
  EXPECT_FALSE(given("x*")->adds_nothing_to(node));
  ASSERT_EQ(given("x*")->unread().size(), 1U);
  EXPECT_EQ(given("x*")->unread()[0].who, "x.json");
  EXPECT_TRUE(given("x*")->settles("merge.include: x*"));
  EXPECT_FALSE(given("x*")->settles("x.json")) << "it is told of anew";
  file("x.json", trace_);
  EXPECT_TRUE(given("x*")->settles("x.json"));
  EXPECT_FALSE(given("y*")->settles("x.json"));
}

TEST_F(ForeignInputsTest, APatternThatFindsOnlyAFolderIsTold) {
  const std::string node = folder_ / "node.json";
  trace::write_sample(node, {.times_ns = {1}});
  fs::create_directory(folder_ / "sub");
  ForeignOptions options;
  options.include = {folder_ / "sub/"};
  const Said said = give({node}, options);
  EXPECT_FALSE(said.is_fine);
  const std::string sub = folder_ / "sub";
  EXPECT_NE(
      said.err.find("a folder: " + sub + ": name the files in it, such as " + sub + "/*.json\n"),
      std::string::npos)
      << said.err;
  options.include = {folder_ / "*"};  // which finds more
  EXPECT_TRUE(give({node}, options).is_fine);
}

TEST_F(ForeignInputsTest, AFileGivenTwiceIsReadOnce) {
  const std::string path = file("k.json", trace_);
  fs::create_symlink(path, folder_ / "link.json");
  ForeignOptions options;
  options.include = {folder_ / "l*.json"};
  const Said said = give({path, folder_ / "./k.json", folder_.path().string()}, options);
  EXPECT_EQ(said.events, 1U);
  EXPECT_NE(said.out.find("/./k.json: given twice"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("/link.json: given twice"), std::string::npos) << said.out;
  EXPECT_TRUE(said.is_fine);
}

// In a folder, too, where other JSON may lie beside the traces.
TEST_F(ForeignInputsTest, NamesWhatIsDamagedWhereverItLies) {
  file("rank0.json", trace_);
  file("other.json", R"({"nodes": [{}]})");
  const Said beside = give({folder_.path().string()});
  EXPECT_TRUE(beside.is_fine);
  EXPECT_NE(beside.out.find("other.json: not a trace: at byte 0"), std::string::npos) << beside.out;
  fs::remove(folder_ / "other.json");
  std::string text = "[";
  for (int i = 0; i < 5000; ++i) text += R"({"ph":"i","ts":)" + std::to_string(i * 7919) + "},";
  const std::string gzip = folder_ / "a.json.gz";
  gzFile to = gzopen(gzip.c_str(), "wb");
  gzwrite(to, text.data(), static_cast<unsigned>(text.size()));
  gzclose(to);
  const std::string whole = trace::read_whole(gzip);
  fs::remove(gzip);
  std::string corrupt = whole;
  for (std::size_t i = 20; i < 200; ++i) corrupt[i] = static_cast<char>(corrupt[i] ^ 0x55);
  for (const auto& [name, content] :
       {std::pair("a.json.gz", whole.substr(0, 60)), std::pair("b.json.gz", corrupt),
        std::pair("c.pt.trace.json", std::string()), std::pair("d.json", std::string("hello"))}) {
    const std::string path = file(name, content);
    ForeignOptions options;
    options.strict = true;
    const Said said = give({folder_.path().string()}, options);
    EXPECT_FALSE(said.is_fine) << name;
    EXPECT_TRUE(said.is_refused) << name;
    EXPECT_NE(said.err.find(std::string(name) + ": at byte "), std::string::npos) << said.err;
    fs::remove(path);
  }
}

TEST_F(ForeignInputsTest, StrictLeavesNothingOutButARunsIndex) {
  file("rank0.json", trace_);
  fs::create_directory(folder_ / "index");
  file("index/index-node0.json", R"({"nodes": [{}]})");
  ForeignOptions options;
  options.strict = true;
  const std::string index = folder_ / "index";
  EXPECT_FALSE(give({folder_.path().string(), index}, options).is_refused);
  file("other.json", R"({"nodes": [{}]})");
  const Said said = give({folder_.path().string(), index}, options);
  EXPECT_TRUE(said.is_refused);
  EXPECT_NE(said.err.find("other.json: at byte 0: it holds no events"), std::string::npos)
      << said.err;
}

TEST_F(ForeignInputsTest, SaysWhatANameToldAndWhichRanksAreMixed) {
  EXPECT_NE(
      give({file("trace_4.json", trace_)}).out.find(": Chrome, rank 4 (by its name), 1 event"),
      std::string::npos);
  const auto of_host = [&](const std::string& host) {
    return file(host + "_1.1.pt.trace.json",
                R"({"host_name": ")" + host + R"(", "distributedInfo": {"rank": 0}, )" +
                    R"("traceEvents": [{"ph":"i","pid":1,"tid":1,"ts":1}]})");
  };
  const std::vector<std::string> files = {of_host("a"), of_host("b")};
  const Said said = give(files);
  EXPECT_TRUE(said.is_fine) << "nothing is lost";
  const std::string mixed = "is of two hosts, a and b, whose lanes and arrows are mixed: ";
  EXPECT_NE(said.out.find("mixed: rank 0 " + mixed), std::string::npos) << said.out;
  const ForeignInputs foreign(trace_files(files), {}, folder_ / "out", {});
  ASSERT_EQ(foreign.unread().size(), 1U) << "the output says it of itself";
  EXPECT_TRUE(foreign.unread()[0].why.starts_with(mixed));
  ForeignOptions options;
  options.ranks = {{files[1], 3}};
  EXPECT_EQ(give(files, options).out.find("mixed: "), std::string::npos);
}

TEST_F(ForeignInputsTest, NamesNoRankOfWhatHasNoEvents) {
  const std::string path = file("t.json", "[]");
  const Said said = give({path, file("u.json", trace_)});
  EXPECT_NE(said.out.find("read: " + path + ": Chrome, 0 events\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("u.json: Chrome, rank 0 (it names none), 1 event"), std::string::npos);
}

// Chrome's form allows that; what was cut behind an event looks the same.
TEST_F(ForeignInputsTest, AnArrayThatIsNotClosedIsToldAndRefusedByStrict) {
  const std::string path = file("rank0.json", trace_.substr(0, trace_.size() - 1) + ",");
  ForeignOptions options;
  const Said said = give({path}, options);
  EXPECT_TRUE(said.is_fine);
  EXPECT_EQ(said.events, 1U);
  EXPECT_NE(said.out.find("1 event, not closed: perhaps cut at byte 35"), std::string::npos)
      << said.out;
  EXPECT_EQ(said.err, "");
  EXPECT_FALSE(said.is_refused);
  options.strict = true;
  const Said strict = give({path}, options);
  EXPECT_TRUE(strict.is_refused);
  EXPECT_NE(strict.err.find("an array of events that is not closed: " + path + ": at byte 35: "),
            std::string::npos)
      << strict.err;
}

TEST_F(ForeignInputsTest, StrictAlsoMissesWhatIsNotThere) {
  file("rank0.json", trace_);
  ForeignOptions options;
  options.strict = true;
  EXPECT_FALSE(give({folder_.path().string()}, options).is_refused);
  fs::create_symlink(folder_ / "gone", folder_ / "rank1.json");
  EXPECT_TRUE(give({folder_.path().string()}, options).is_refused);
}

TEST_F(ForeignInputsTest, ARankOfAFileThatIsNoInputIsRefused) {
  const std::string path = file("k.json", trace_);
  ForeignOptions options;
  options.ranks = {{folder_ / "./k.json", 7}};
  EXPECT_EQ(give({path}, options).ranks, std::vector<std::int64_t>{7});
  options.ranks = {{folder_ / "other.json", 7}};
  const Said said = give({path}, options);
  EXPECT_NE(said.usage_problem.find("other.json"), std::string::npos) << said.usage_problem;
  EXPECT_EQ(said.events, 0U);
}

}  // namespace
}  // namespace traceagent::tools
