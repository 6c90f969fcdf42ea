#include "agent/drain/end_of_run.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

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
  EXPECT_EQ(last_line("own"), R"({"ended": "r"})");
  EXPECT_EQ(last_line("sister.1"), R"({"ended": "r", "files": ["b \"1\".json"]})");
  EXPECT_EQ(last_line("stranger").find("ended"), std::string::npos);
  EXPECT_EQ(last_line("earlier").find("ended"), std::string::npos);
}

TEST_F(EndOfRunTest, NobodyElseIsToldWhereNothingIsRemoved) {
  queue("sister", "b.json", "r");
  EXPECT_TRUE(
      end(R"({"output.remote":"/there/","output.keep":-1})", {folder_ + "/b.json"}).hosts.empty());
  EXPECT_NE(last_line("own"), "");
  EXPECT_EQ(last_line("sister").find("ended"), std::string::npos);
}

TEST_F(EndOfRunTest, NothingIsToldWithoutAPlace) {
  EXPECT_EQ(end(R"({"output.keep":0})", {}).problem, "");
  EXPECT_FALSE(std::filesystem::exists(trace::upload_folder(folder_)));
}

}  // namespace
}  // namespace traceagent::drain
