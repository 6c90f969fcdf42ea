// Files of ours that another program has saved again, and not all of them.
#include <gtest/gtest.h>

#include <string>

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

// Of a saved text: its last event.
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

}  // namespace
}  // namespace traceagent::tools
