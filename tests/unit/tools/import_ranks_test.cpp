// Whose other people's files are, and what is said where that cannot be.
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/trace/json_scan.hpp"
#include "tests/unit/tools/import_fixture.hpp"

namespace traceagent::tools {
namespace {

using Ranks = std::vector<std::int64_t>;

class ImportRanksTest : public ImportTest {
 protected:
  // As PyTorch writes it: of `pid`, with events from `ts` on, a microsecond each.
  std::string pytorchs(const std::string& name, int pid, std::int64_t ts,
                       const std::string& rank = "") {
    const std::string number = std::to_string(pid);
    std::string text = R"({"schemaVersion":1,"baseTimeNanoseconds":1700000000000000000,)";
    if (!rank.empty()) text += R"("distributedInfo":{"rank":)" + rank + "},";
    text += R"("traceEvents":[{"ph":"M","name":"process_labels","pid":)" + number +
            R"(,"tid":0,"args":{"labels":"CPU"}})";
    for (int i = 0; i < 3; ++i) {
      text += R"(,{"ph":"X","name":"e","pid":)" + number + R"(,"tid":1,"dur":1,"ts":)" +
              std::to_string(ts + i) + "}";
    }
    fs::create_directories(fs::path(folder_ / name).parent_path());
    return file(name, text + "]}");
  }
  std::vector<Ranks> ranks_of(const std::vector<std::string>& files, ImportOptions options = {}) {
    std::vector<Ranks> ranks;
    for (const ImportedFile& each : import(files, std::move(options))) ranks.push_back(each.ranks);
    return ranks;
  }
  std::vector<MixedRank> mixed(const std::vector<std::string>& files) {
    return ImportedTraces(files, {.folder = folder_.path().string()}).mixed();
  }
};

TEST_F(ImportRanksTest, AHostsNameTellsNoRank) {
  const std::vector<std::string> files = {pytorchs("r1n1_100.1.pt.trace.json", 100, 0),
                                          pytorchs("r1n2_200.1.pt.trace.json", 200, 1),
                                          pytorchs("job-worker-0_100.1.pt.trace.json", 100, 2)};
  EXPECT_EQ(ranks_of(files), (std::vector<Ranks>{{0}, {1}, {2}}));
}

TEST_F(ImportRanksTest, CyclesOfOnePyTorchProcessAreOfOneRank) {
  const std::vector<std::string> files = {pytorchs("vm_7.1.pt.trace.json", 7, 0),
                                          pytorchs("vm_8.1.pt.trace.json", 8, 50),
                                          pytorchs("vm_7.2.pt.trace.json", 7, 100)};
  EXPECT_EQ(ranks_of(files), (std::vector<Ranks>{{0}, {1}, {0}}));
  // And one that comes later, or tells no rank beside one that does.
  import({files[1]});
  fs::rename(folder_ / "merged", folder_ / "before");
  ImportOptions options;
  options.own_files = {folder_ / "before"};
  const std::string later = pytorchs("vm_8.2.pt.trace.json", 8, 200);
  EXPECT_EQ(ranks_of({files[0], later}, options), (std::vector<Ranks>{{1}, {0}}));
  const std::string told = pytorchs("vm_7.3.pt.trace.json", 7, 300, "5");
  EXPECT_EQ(ranks_of({files[0], told}), (std::vector<Ranks>{{5}, {5}}));
  // One that has had two ranks was two.
  const std::string other = pytorchs("x/vm_7.4.pt.trace.json", 7, 400, "6");
  EXPECT_EQ(ranks_of({told, other, files[0]}), (std::vector<Ranks>{{5}, {6}, {0}}));
}

TEST_F(ImportRanksTest, ANumberAloneYieldsToAJobOfOneRank) {
  trace::write_sample(folder_ / "own.json", {.rank = 0, .times_ns = {5}});
  std::string own = trace::read_whole(folder_ / "own.json");
  const std::string ranks = "\"world_size\": ";
  own.replace(own.find(ranks + "4") + ranks.size(), 1, "1");
  trace::write_whole(folder_ / "own.json", own);
  ImportOptions options;
  options.own_files = {folder_ / "own.json"};
  const std::vector<std::string> files = {file("trace_4.json", "[" + event(1) + "]"),
                                          file("trace_rank3.json", "[" + event(1) + "]")};
  EXPECT_EQ(ranks_of(files, options), (std::vector<Ranks>{{0}, {3}}));
  EXPECT_EQ(ranks_of(files), (std::vector<Ranks>{{4}, {3}}));
}

TEST_F(ImportRanksTest, ARankOfTwoHostsOrOfTwoProgramsAtATimeIsMixed) {
  const std::string first = pytorchs("a_100.1.pt.trace.json", 100, 0, "0");
  const auto hosts = mixed({first, pytorchs("b_200.1.pt.trace.json", 200, 100, "0")});
  ASSERT_EQ(hosts.size(), 1U);
  EXPECT_EQ(hosts[0].rank, 0);
  EXPECT_EQ(hosts[0].first, first);
  EXPECT_EQ(hosts[0].why, "is of two hosts, a and b");
  const auto programs = mixed({first, pytorchs("a_200.1.pt.trace.json", 200, 1, "0")});
  ASSERT_EQ(programs.size(), 1U);
  EXPECT_EQ(programs[0].why, "is of two processes at a time");
  // One after the other, as a job that was started again; cycles of one; two ranks.
  EXPECT_TRUE(mixed({first, pytorchs("a_300.1.pt.trace.json", 300, 50, "0")}).empty());
  EXPECT_TRUE(mixed({first, pytorchs("a_100.2.pt.trace.json", 100, 50, "0")}).empty());
  EXPECT_TRUE(mixed({first, pytorchs("b_400.1.pt.trace.json", 400, 1, "1")}).empty());
}

}  // namespace
}  // namespace traceagent::tools
