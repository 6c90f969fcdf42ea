#include "tools/upload/uploader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/index_file.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/upload/work_off.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

class UploaderTest : public testing::Test {
 protected:
  UploaderTest() {
    fs::create_directory(folder_);
    std::ofstream(file_) << "{}";
    options_.patience = {};
    queue("1", -1);
  }

  void queue(const char* id, int keep) {
    trace::JsonObject record;
    record.add("queue", id).add("file", "a.json").add("target", there_).add("kind", "rank");
    EXPECT_EQ(trace::append_record(path_, record.add("keep", keep)), "");
  }

  // One attempt where there is no patience. True: all is uploaded.
  bool work() {
    Journal journal(folder_, path_);
    return Uploader(journal, folder_, problem_, options_,
                    [this](const std::string& line) {
                      told_ += line + "\n";
                      if (when_told_) when_told_();
                    })
        .work();
  }

  std::size_t times_told(const std::string& words) const {
    std::size_t times = 0;
    for (std::size_t at = told_.find(words); at != std::string::npos;
         at = told_.find(words, at + 1)) {
      ++times;
    }
    return times;
  }

  const trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "traces", there_ = scratch_ / "there/a.json";
  const std::string file_ = folder_ + "/a.json", problem_ = scratch_ / "problem";
  const std::string path_ = trace::journal_path(folder_, "host");
  UploaderOptions options_;
  std::function<void()> when_told_;
  std::string told_;
};

// The folder is used again: that file would be the earlier run's at its place, and output.keep
// would remove it.
TEST_F(UploaderTest, AnotherRunsFileOfTheNameIsNotSentAndNotRemoved) {
  trace::JsonObject record;
  record.add("queue", "2").add("file", "b.json").add("target", there_ + "-b").add("kind", "rank");
  record.add("run", "one").add("keep", 0).add("ended", true);
  EXPECT_EQ(trace::append_record(path_, record), "");
  trace::write_sample(folder_ + "/b.json", {.run_key = "two"});
  EXPECT_TRUE(work());
  EXPECT_FALSE(fs::exists(there_ + "-b"));
  EXPECT_TRUE(fs::exists(folder_ + "/b.json"));
  EXPECT_EQ(times_told("another run's file has its name"), 1u);
  Journal journal(folder_, path_);
  EXPECT_EQ(journal.left_out(), 1u);
  std::ifstream problem(problem_);
  std::string line;
  std::getline(problem, line);
  EXPECT_NE(line.find("b.json -> " + there_ + "-b: left out"), std::string::npos) << line;
}

// And so where that one goes to the same place: its own upload is no second try of the first one's.
TEST_F(UploaderTest, WhatAnotherRunQueuedUnderTheNameLeavesOutTheFirst) {
  for (const char* run : {"one", "two"}) {
    trace::JsonObject record;
    record.add("queue", run).add("file", "b.json").add("target", there_ + "-b").add("kind", "rank");
    EXPECT_EQ(trace::append_record(path_, record.add("run", run).add("keep", -1)), "");
  }
  trace::write_sample(folder_ + "/b.json", {.run_key = "two"});
  EXPECT_EQ(Journal(folder_, path_).left_out(), 1u) << "before an uploader saw it";
  EXPECT_TRUE(work());
  EXPECT_TRUE(fs::exists(there_ + "-b"));
  EXPECT_EQ(times_told("another run's file has its name"), 1u);
  EXPECT_EQ(Journal(folder_, path_).left_out(), 1u);
}

TEST_F(UploaderTest, AFileThatIsGoneIsCountedAndToldOf) {
  fs::remove(file_);
  EXPECT_FALSE(work_off(folder_, path_, options_, [](const std::string&) {}));
  Journal journal(folder_, path_);
  EXPECT_EQ(journal.left_out(), 1u);
  EXPECT_EQ(pending_in(journal), 0u);
  std::ifstream problem(path_.substr(0, path_.rfind('.')) + ".problem");
  std::string line;
  std::getline(problem, line);
  EXPECT_TRUE(line.starts_with("a.json -> " + there_ + ": left out: not there any more")) << line;
}

// That was queued again since, or that its rank has left out, is one file.
TEST_F(UploaderTest, AFileThatIsGoneIsCountedOnce) {
  fs::remove(file_);
  queue("2", -1);
  trace::JsonObject record;
  record.add("queue", "3").add("file", "b.json").add("target", there_ + "-b").add("kind", "rank");
  EXPECT_EQ(trace::append_record(path_, record.add("keep", -1)), "");
  const trace::JsonObject by_rank = trace::JsonObject().add("gone", "3").add("left_out", true);
  EXPECT_EQ(trace::append_record(path_, by_rank), "");
  work();
  EXPECT_EQ(times_told("left out"), 1u) << told_;
  EXPECT_EQ(Journal(folder_, path_).left_out(), 2u);
}

TEST_F(UploaderTest, TheRunsOwnFileOfTheNameIsSent) {
  trace::JsonObject record;
  record.add("queue", "2").add("file", "b.json").add("target", there_ + "-b").add("kind", "rank");
  EXPECT_EQ(trace::append_record(path_, record.add("run", "one").add("keep", -1)), "");
  trace::write_sample(folder_ + "/b.json", {.run_key = "one"});
  EXPECT_TRUE(work());
  EXPECT_TRUE(fs::exists(there_ + "-b"));
}

TEST_F(UploaderTest, AFileThatItsRankHasLockedForAMomentIsNoFailure) {
  options_.patience = options_.longest_lock = std::chrono::hours(1);
  auto lock = std::make_unique<trace::DeliveryLock>(file_, trace::DeliveryLock::Kind::leave_out);
  std::thread rank([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    lock.reset();
  });
  EXPECT_TRUE(work());
  rank.join();
  EXPECT_EQ(told_, "a.json -> " + there_ + "\n");
  EXPECT_TRUE(fs::exists(there_));
}

TEST_F(UploaderTest, AFileThatSomebodyKeepsLockedIsToldOnceAndAtTheEnd) {
  options_.patience = std::chrono::milliseconds(500);
  options_.longest_lock = {};
  {
    const trace::DeliveryLock lock(file_, trace::DeliveryLock::Kind::leave_out);
    EXPECT_FALSE(work());
  }
  const std::string begin = "a.json -> " + there_ + ": another process ";
  const std::string remedy = "has it locked: see lsof " + file_;
  EXPECT_EQ(times_told(begin + remedy), 1u) << told_;
  EXPECT_EQ(times_told(begin + "still " + remedy), 1u) << told_;
  std::ifstream problem(problem_);
  std::string line;
  EXPECT_TRUE(std::getline(problem, line)) << "the job's end tells of it";
  EXPECT_NE(line.find(" has it locked: see lsof "), std::string::npos) << line;
  EXPECT_FALSE(fs::exists(there_));
  EXPECT_TRUE(work()) << "it is in the journal";
  EXPECT_TRUE(fs::exists(there_));
}

TEST_F(UploaderTest, ALockThatIsNoMoreIsNotTheReason) {
  options_.patience = std::chrono::milliseconds(500);
  auto lock = std::make_unique<trace::DeliveryLock>(file_, trace::DeliveryLock::Kind::leave_out);
  for (int i = 0; i < 30; ++i) {
    const std::string name = "b" + std::to_string(i) + ".json";
    std::ofstream(folder_ + "/" + name) << "{}";
    trace::JsonObject other;
    other.add("queue", name).add("file", name).add("target", "/proc/nowhere/" + name);
    ASSERT_EQ(trace::append_record(path_, other.add("kind", "rank").add("keep", -1)), "");
  }
  when_told_ = [&] { lock.reset(); };
  EXPECT_FALSE(work()) << "all of them are tried before a.json's next turn";
  EXPECT_EQ(times_told("has it locked"), 0u) << told_;
}

TEST_F(UploaderTest, WhatHasTheNameOfAnUploadedFileStaysUntilItIsUploadedToo) {
  queue("2", 0);
  when_told_ =
      [this] {  // it is uploaded: its rank writes the next, and will queue that in a moment
        when_told_ = nullptr;
        std::ofstream(file_ + ".new") << "{\"next\": 1}";
        fs::last_write_time(file_ + ".new",
                            fs::file_time_type::clock::now() + std::chrono::hours(1));
        fs::rename(file_ + ".new", file_);
      };
  EXPECT_TRUE(work());
  EXPECT_TRUE(fs::exists(file_)) << told_;
  queue("3", 0);
  EXPECT_TRUE(work());
  EXPECT_EQ(fs::file_size(there_), 11u);
  EXPECT_FALSE(fs::exists(file_)) << told_;
}

// Who merges has told the joined one of all nodes by then, and nobody comes after the uploader.
TEST_F(UploaderTest, WhatItRemovesStandsInTheIndexOfItsNodeAndInTheJoinedOne) {
  const std::string head = trace::index_head("r"), of_node = folder_ + "/index/index-node1.json";
  fs::create_directory(folder_ + "/index");
  for (const char* name : {"index-node1", "index"}) {
    ASSERT_EQ(trace::add_to_index(folder_ + "/index/" + name + ".json", head,
                                  R"({"saved": "a.json"})", false),
              "");
  }
  trace::JsonObject record;
  record.add("queue", "2").add("file", "a.json").add("target", there_).add("kind", "rank");
  record.add("run", "r").add("keep", 0).add("index", "index-node1");
  ASSERT_EQ(trace::append_record(path_, record), "");
  EXPECT_TRUE(work());
  EXPECT_FALSE(fs::exists(file_)) << told_;
  for (const std::string& path : {of_node, folder_ + "/index/index.json"}) {
    EXPECT_TRUE(trace::index_holds(path, R"({"removed": "a.json", "time_ns": )")) << path << told_;
  }
}

// The first attempt alone takes longer than there is patience.
TEST_F(UploaderTest, WhatFailsLateIsTriedAgain) {
  options_.patience = std::chrono::seconds(1);
  options_.allow_commands = true;
  const std::string tried = scratch_ / "tried";
  trace::JsonObject record;
  std::ofstream(folder_ + "/b.json") << "{}";
  record.add("queue", "2").add("file", "b.json").add("kind", "rank").add("keep", -1);
  record.add("words", std::vector<std::string>{
                          "/bin/sh", "-c",
                          "test -e " + tried + " || { touch " + tried + "; sleep 1.2; exit 1; }"});
  ASSERT_EQ(trace::append_record(path_, record), "");
  EXPECT_TRUE(work()) << told_;
  EXPECT_EQ(times_told("tried again"), 1u) << told_;
}

// It comes when the journal was read for the last time, and who sends it sees that we are at work.
TEST_F(UploaderTest, WhatARunsEndFreesIsRemovedHoweverLateItComes) {
  trace::JsonObject kept, others;
  std::ofstream(folder_ + "/b.json") << "{}";
  kept.add("queue", "2").add("file", "b.json").add("target", scratch_ / "there/b.json");
  kept.add("kind", "rank").add("keep", 0).add("merge", true).add("run", "r");
  others.add("queue", "3").add("file", "c.json").add("target", "/proc/nowhere/c.json");
  for (const auto* record : {&kept, &others}) ASSERT_EQ(trace::append_record(path_, *record), "");
  options_.others = {"3"};
  const auto at_end = [&](const std::string& line) {
    if (line.find("queued before wait") == std::string::npos) return;
    EXPECT_TRUE(fs::exists(folder_ + "/b.json")) << "its run may go on";
    EXPECT_EQ(trace::append_record(path_, trace::JsonObject().add("ended", "r")), "");
  };
  bool is_first = true;
  EXPECT_TRUE(work_off(folder_, path_, options_, [&](const std::string& line) {
    if (is_first) at_end(line);
    is_first = is_first && line.find("queued before wait") == std::string::npos;
  }));
  EXPECT_FALSE(fs::exists(folder_ + "/b.json"));
}

TEST_F(UploaderTest, AServerThatFailsIsTold) {
  std::ofstream(scratch_ / "there") << "no folder";
  EXPECT_FALSE(work());
  EXPECT_NE(told_.find("tried again"), std::string::npos) << told_;
  EXPECT_TRUE(fs::exists(problem_));
}

}  // namespace
}  // namespace traceagent::tools
