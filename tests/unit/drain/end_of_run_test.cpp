#include "agent/drain/end_of_run.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/drain/upload_queue.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

class EndOfRunTest : public testing::Test {
 protected:
  EndOfRunTest() {
    char name[] = "/tmp/traceagent-test-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~EndOfRunTest() override { std::filesystem::remove_all(folder_); }

  void queue(const std::string& host, const std::string& file, const char* run) {
    trace::JsonObject record;
    record.add("queue", trace::new_upload_id()).add("file", file).add("run", run);
    EXPECT_EQ(trace::append_record(trace::journal_path(folder_, host), record), "");
  }

  // Of the rings of host "own", run "r".
  EndOfRun end(const char* options, const std::vector<std::string>& files) {
    return end(options, MergedFiles{files, files});
  }

  EndOfRun end(const char* options, const MergedFiles& files) {
    CraftedRing crafted(folder_);
    ring::IdentityBlock& identity = crafted.ring().header().identity;
    identity.options_json = crafted.ring().add_name(options);
    identity.host = crafted.ring().add_name("own");
    identity.run_key = crafted.ring().add_name("r");
    return queue_end_of_run(crafted.ring(), files);
  }

  std::string last_line(const std::string& host) const {
    std::ifstream journal(trace::journal_path(folder_, host));
    std::string last;
    for (std::string line; std::getline(journal, line);) {
      if (!line.empty()) last = line;
    }
    return last;
  }

  std::string folder_;
};

constexpr const char* keeps_none = R"({"output.remote":"/there/","output.keep":0})";

TEST_F(EndOfRunTest, IsToldToTheHostsWhoseFilesWereMerged) {
  queue("own", "a.json", "r");
  queue("sister.1", "b \"1\".json", "r");
  queue("sister.1", "c.json", "r");
  queue("stranger", "d.json", "r");
  queue("earlier", "a.json", "q");
  const EndOfRun told =
      end(keeps_none, {folder_ + "/a.json", folder_ + "/b \"1\".json", "/d.json"});
  EXPECT_EQ(told.problem, "");
  EXPECT_EQ(told.hosts, std::vector<std::string>{"sister.1"});
  EXPECT_EQ(last_line("own"), R"({"ended": "r", "files": ["a.json"]})");
  EXPECT_EQ(last_line("sister.1"), R"({"ended": "r", "files": ["b \"1\".json"]})");
  EXPECT_EQ(last_line("stranger").find("ended"), std::string::npos);
  EXPECT_EQ(last_line("earlier").find("ended"), std::string::npos);
}

// Two nodes of a run may be on one host, and one of them be merged before the other.
TEST_F(EndOfRunTest, OfTheOwnHostTheFilesThatWereMergedAndNoOthers) {
  queue("own", "a.json", "r");
  queue("own", "another-nodes.json", "r");
  EXPECT_TRUE(end(keeps_none, MergedFiles{{folder_ + "/a.json", folder_ + "/unqueued.json"}, {}})
                  .hosts.empty());
  EXPECT_EQ(last_line("own"), R"({"ended": "r", "files": ["a.json"]})");
}

// Of a thousand nodes that share the folder each would read all the journals.
TEST_F(EndOfRunTest, TheOthersAreNotReadWhereAllIsInOnesOwn) {
  queue("own", "a.json", "r");
  queue("other", "a.json", "r");
  EXPECT_TRUE(end(keeps_none, {folder_ + "/a.json"}).hosts.empty());
  EXPECT_EQ(last_line("other").find("ended"), std::string::npos);
}

// All of the node's file is known to be of this host: what is in no journal was never queued.
TEST_F(EndOfRunTest, TheOthersAreNotReadWhereNoFileMayBeTheirs) {
  queue("other", "a.json", "r");
  EXPECT_TRUE(end(keeps_none, MergedFiles{{folder_ + "/a.json"}, {}}).hosts.empty());
  EXPECT_EQ(last_line("own"), "");
  EXPECT_EQ(last_line("other").find("ended"), std::string::npos);
}

TEST_F(EndOfRunTest, MoreFilesThanALineHoldsAreToldInSeveral) {
  std::vector<std::string> files;
  for (int i = 0; i < 2500; ++i) {
    const std::string name = std::to_string(i) + ".json";
    // A second time where it was written again.
    for (int twice = 0; twice < (i < 2 ? 2 : 1); ++twice) queue("sister", name, "r");
    files.push_back(folder_ + "/" + name);
  }
  EXPECT_EQ(end(keeps_none, files).hosts, std::vector<std::string>{"sister"});
  std::ifstream journal(trace::journal_path(folder_, "sister"));
  std::size_t records = 0, names = 0;
  for (std::string line; std::getline(journal, line);) {
    if (!line.starts_with("{\"ended\"")) continue;
    ++records;
    for (std::size_t at = 0; (at = line.find(".json", at)) != std::string::npos; ++at) ++names;
  }
  EXPECT_EQ(records, 3u);
  EXPECT_EQ(names, 2500u);
}

// It would hold the job's end until somebody writes to it.
TEST_F(EndOfRunTest, APipeAmongTheJournalsIsNotRead) {
  queue("own", "a.json", "r");
  ASSERT_EQ(mkfifo(trace::journal_path(folder_, "another").c_str(), 0600), 0);
  EXPECT_TRUE(end(keeps_none, {folder_ + "/b.json"}).hosts.empty());
}

TEST_F(EndOfRunTest, NobodyElseIsToldWhereNothingIsRemoved) {
  queue("sister", "b.json", "r");
  EXPECT_TRUE(
      end(R"({"output.remote":"/there/","output.keep":-1})", {folder_ + "/b.json"}).hosts.empty());
  EXPECT_EQ(last_line("own"), R"({"ended": "r"})");
  EXPECT_EQ(last_line("sister").find("ended"), std::string::npos);
}

TEST_F(EndOfRunTest, NothingIsToldWithoutAPlace) {
  EXPECT_EQ(end(R"({"output.keep":0})", {folder_ + "/a.json"}).problem, "");
  EXPECT_FALSE(std::filesystem::exists(trace::upload_folder(folder_)));
}

}  // namespace
}  // namespace traceagent::drain
