// Files of ours that another program has saved again, and not all of them.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "agent/trace/json_scan.hpp"
#include "tests/unit/tools/import_fixture.hpp"

namespace traceagent::tools {
namespace {

constexpr char held[] = "other files that are given hold all of it";

class SavedImportTest : public ImportTest {
 protected:
  std::string rank_file(const std::string& name, const std::string& metadata = {}) {
    return trace::write_sample(
        folder_ / name, {.rank = 0, .times_ns = {1, 5, 9}, .metadata = metadata, .run_key = "k"});
  }
};

// The kernel tells of each time that a file is opened; two of the same in a row it tells once.
class OpenCount {
 public:
  explicit OpenCount(const std::string& path) {
    EXPECT_GE(inotify_add_watch(descriptor_, path.c_str(), IN_OPEN | IN_CLOSE), 0);
  }
  ~OpenCount() { close(descriptor_); }
  OpenCount(const OpenCount&) = delete;
  OpenCount& operator=(const OpenCount&) = delete;

  [[nodiscard]] int count() const {
    int opens = 0;
    inotify_event told{};  // of a file that is watched itself no name is told
    while (read(descriptor_, &told, sizeof told) == sizeof told)
      opens += (told.mask & IN_OPEN) != 0;
    return opens;
  }

 private:
  int descriptor_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
};

// A saved text, less its last event.
std::string without_last(std::string text) {
  const std::size_t comma = text.rfind(',', text.rfind("{\"ts\":"));
  return text.erase(comma, text.find(" ]", comma) - comma);
}

// And without what its writer said of it.
std::string without_account(std::string text) {
  const std::size_t begin = text.find("\"traceagent\":");
  return text.erase(begin, text.find(',', text.find('}', begin)) + 1 - begin);
}

TEST_F(SavedImportTest, TellsThatEventsAreMissing) {
  const std::string whole = rank_file("r0.json");
  const std::string less = file("less.json", without_last(saved_again(whole)));
  EXPECT_EQ(import({less})[0].problem,
            "events are missing: " + less +
                ": it says that 3 were written, and has 2: what is there is used; give the file as "
                "TraceAgent wrote it");
  EXPECT_EQ(merged_.events, 2U);
  EXPECT_FALSE(merged_.complete);
  EXPECT_EQ(merged_.dropped, (std::map<std::string, std::uint64_t>{{"missing_lines", 1}}));
  EXPECT_NE(read_.footer.metadata.find(R"("problem": "events are missing: )"), std::string::npos);
  // Nothing is missing where others have them.
  const ImportedFile beside = import({less}, {.own_files = {whole}})[0];
  EXPECT_EQ(beside.left_out, held);
  EXPECT_EQ(beside.problem, "");
  EXPECT_TRUE(merged_.complete);
}

TEST_F(SavedImportTest, TellsNothingOfEventsThatWereAddedOrThatNobodyCounted) {
  std::string more = saved_again(rank_file("r0.json"));
  more.insert(more.rfind("{\"ts\":"), R"({"ts":0.002,"ph":"X","name":"n","pid":0,"tid":7},)");
  EXPECT_EQ(import({file("more.json", more)})[0].problem, "");
  EXPECT_EQ(merged_.events, 4U);
  EXPECT_TRUE(merged_.complete);
  const std::string uncounted = rank_file("r0.json", R"({"rank": 0})");
  EXPECT_EQ(import({file("less.json", without_last(saved_again(uncounted)))})[0].problem, "");
  EXPECT_EQ(merged_.events, 2U);
}

TEST_F(SavedImportTest, ClaimsNothingOfAWriterOfWhichNothingIsLeft) {
  std::string bare = without_account(saved_again(rank_file("r0.json")));
  const std::size_t complete = bare.find("\"complete\": true");
  ASSERT_NE(complete, bare.npos);
  bare.replace(complete, 16, "\"x\": 1");
  EXPECT_EQ(import({file("bare.json", bare)})[0].problem, "");
  EXPECT_FALSE(merged_.complete);
  const auto told = trace::member(read_.footer.metadata, "incomplete");
  EXPECT_EQ(told,
            R"([{"file": "bare.json", "problem": "it does not say whether anything is missing"}])");
}

// As far as is known others hold all of it only where one of them is whole.
TEST_F(SavedImportTest, MayHoldMoreThanACutFile) {
  const std::string cut = rank_file("r0.json");
  const std::string whole = trace::read_whole(cut);
  const std::string bare = file("bare.json", without_account(saved_again(cut)));
  const std::string less = file("less.json", without_last(saved_again(cut)));
  trace::write_whole(cut, whole.substr(0, whole.rfind("{\"ts\":")));
  for (const std::string& again : {bare, less}) {
    const ImportedFile report = import({again}, {.own_files = {cut}})[0];
    EXPECT_NE(report.left_out, held);
    EXPECT_EQ(report.problem, "merged files overlap: " + again +
                                  ": give all of its rank files, or leave out those that it holds");
    EXPECT_TRUE(report.is_lost);
    EXPECT_FALSE(merged_.complete);
    const std::vector<std::string> with_whole = {cut, file("copy.json", whole)};
    EXPECT_EQ(import({again}, {.own_files = with_whole})[0].left_out, held);
    EXPECT_EQ(merged_.events, 3U);
  }
}

TEST_F(SavedImportTest, TakesTheOneThatIsKnownToBeWhole) {
  const std::string own = rank_file("r0.json");
  const std::string less = file("less.json", without_last(saved_again(own)));
  const std::string again = file("again.json", saved_again(own) + " ");
  for (const auto& files : {std::vector{less, again}, std::vector{again, less}}) {
    for (const ImportedFile& report : import(files)) {
      EXPECT_EQ(report.left_out, report.path == less ? held : "");
      EXPECT_EQ(report.problem, "");
    }
    EXPECT_EQ(merged_.events, 3U);
    EXPECT_TRUE(merged_.complete);
  }
  // A copy holds no more, whatever it holds.
  EXPECT_EQ(import({less, less})[1].left_out, held);
}

// How often our own merged file is opened beside so many files that another program has saved.
TEST_F(SavedImportTest, ReadsAFileOfOursOnceForAllThatItHolds) {
  std::vector<std::string> saved;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 6; ++rank) {
    ranks.push_back(trace::write_sample(folder_ / ("r" + std::to_string(rank) + ".json"),
                                        {.rank = rank, .times_ns = {rank}, .run_key = "k"}));
    saved.push_back(file("again" + std::to_string(rank) + ".json", saved_again(ranks.back())));
  }
  const std::string node = folder_ / "node0.json";
  ASSERT_EQ(trace::merge(ranks, node).problem, "");
  const auto opens_beside = [&](const std::vector<std::string>& files) {
    const OpenCount opens(node);
    for (const ImportedFile& report : import(files, {.own_files = {node}})) {
      EXPECT_EQ(report.left_out, held);
    }
    return opens.count();
  };
  const int of_one = opens_beside({saved.front()});
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(opens_beside(saved), of_one);
}

}  // namespace
}  // namespace traceagent::tools
