#include "tools/upload/left_out.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "agent/trace/index_file.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/upload/uploader.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LeftOutTest : public testing::Test {
 protected:
  LeftOutTest() {
    fs::create_directory(folder_);
    options_.patience = {};
    options_.allow_commands = true;
  }

  void make(const std::string& name, const std::string& text = "{}") const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  trace::JsonObject record(const std::string& id, const std::string& file,
                           const std::string& run) const {
    trace::JsonObject record;
    record.add("queue", id).add("file", file).add("kind", "rank").add("keep", -1);
    return record.add("run", run).add("index", "index-node1");
  }
  void queue(const std::string& id, const std::string& file, const std::string& place,
             const std::string& run = "r") {
    append(record(id, file, run).add("target", there_ + "/" + place));
  }
  void append(const trace::JsonObject& record) {
    EXPECT_EQ(trace::append_record(path_, record), "");
  }

  bool work() {
    Journal journal(folder_, path_);
    return Uploader(journal, folder_, problem_, options_,
                    [this](const std::string& line) {
                      told_ += line + "\n";
                      if (when_told_) when_told_(line);
                    })
        .work();
  }

  const trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "traces", there_ = scratch_ / "there";
  const std::string problem_ = scratch_ / "problem";
  const std::string path_ = trace::journal_path(folder_, "host");
  UploaderOptions options_;
  std::function<void(const std::string&)> when_told_;
  std::string told_;
};

// One name here, a name for each cycle there: it has the last cycle's contents alone.
TEST_F(LeftOutTest, ACycleThatIsWrittenOverHasNoOthersContents) {
  make("rank0.json", "last");
  for (const char* cycle : {"1", "2", "3"}) queue(cycle, "rank0.json", cycle);
  EXPECT_EQ(pending_in(Journal(folder_, path_)), 1u);
  EXPECT_EQ(Journal(folder_, path_).left_out(), 2u) << "before an uploader saw it";
  EXPECT_TRUE(work());
  EXPECT_FALSE(fs::exists(there_ + "/1"));
  EXPECT_FALSE(fs::exists(there_ + "/2"));
  EXPECT_EQ(contents(there_ + "/3"), "last");
  EXPECT_EQ(Journal(folder_, path_).left_out(), 2u);
  EXPECT_EQ(contents(problem_),
            "rank0.json -> " + there_ +
                "/1 and 1 more: left out: a later cycle was written over it before it was "
                "uploaded: name {batch} in output.filename\n");
}

// Where all go to one place too, the older is no upload of its own.
TEST_F(LeftOutTest, WhatReplacesTheOlderThereTooIsNotCounted) {
  make("rank0.json");
  queue("1", "rank0.json", "one");
  queue("2", "rank0.json", "one");
  EXPECT_TRUE(work());
  EXPECT_EQ(Journal(folder_, path_).left_out(), 0u);
}

// A rank queues a file a moment after it has written it.
TEST_F(LeftOutTest, ACycleThatIsQueuedWhileItIsSentForTheOlderIsNotTheOlder) {
  make("rank0.json", "last");
  const std::string later = record("2", "rank0.json", "r").add("target", there_ + "/2").text();
  const std::vector<std::string> words = {
      "/bin/sh", "-c", R"(printf '\n%s\n' "$0" >>"$1"; : "$2")", later, path_, "{}"};
  append(record("1", "rank0.json", "r").add("words", words));
  EXPECT_TRUE(work()) << told_;
  const Journal journal(folder_, path_);
  EXPECT_TRUE(journal.uploads()[0].is_left_out && !journal.uploads()[0].is_done) << told_;
  EXPECT_EQ(contents(there_ + "/2"), "last");
}

// Then nothing is sent to the older one's place.
TEST_F(LeftOutTest, ACycleThatIsQueuedAMomentAfterItIsWrittenIsNotSentAsTheOlder) {
  make("rank0.json", "last");
  const std::int64_t long_ago_ns = 1;
  append(record("1", "rank0.json", "r").add("target", there_ + "/1").add("modified", long_ago_ns));
  std::thread rank([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    queue("2", "rank0.json", "2");
  });
  work();
  rank.join();
  work();
  EXPECT_FALSE(fs::exists(there_ + "/1")) << told_;
  EXPECT_EQ(contents(there_ + "/2"), "last");
}

// By whoever copies the folder: nothing replaces it.
TEST_F(LeftOutTest, AFileThatIsYoungerThanItsRecordIsSent) {
  make("rank0.json", "copied");
  append(
      record("1", "rank0.json", "r").add("target", there_ + "/1").add("modified", std::int64_t{1}));
  EXPECT_TRUE(work());
  EXPECT_EQ(contents(there_ + "/1"), "copied");
}

// It stays told until a run has begun that it does not concern.
TEST_F(LeftOutTest, WhatWasLostIsToldAtTheEndHoweverWellTheLaterCyclesGo) {
  queue("1", "a.json", "a.json");
  EXPECT_TRUE(work());
  make("b.json");
  queue("2", "b.json", "b.json");
  EXPECT_TRUE(work());
  EXPECT_TRUE(contents(problem_).starts_with("a.json -> " + there_ + "/a.json: left out: not "))
      << contents(problem_);
  make("c.json");
  queue("3", "c.json", "c.json", "next");
  EXPECT_TRUE(work());
  EXPECT_FALSE(fs::exists(problem_)) << contents(problem_);
}

TEST_F(LeftOutTest, WhatWasLostStandsInTheIndex) {
  fs::create_directory(folder_ + "/index");
  for (const char* name : {"index-node1", "index"}) {
    ASSERT_EQ(trace::add_to_index(folder_ + "/index/" + name + ".json", trace::index_head("r"),
                                  R"({"saved": "a.json"})", false),
              "");
  }
  queue("1", "a.json", "a.json");
  EXPECT_TRUE(work());
  for (const char* name : {"index-node1", "index"}) {
    EXPECT_TRUE(trace::index_holds(folder_ + "/index/" + name + ".json",
                                   R"({"left_out": "a.json", "why": "the file is not there)"))
        << name << told_;
  }
}

// The job's end would tell of it.
TEST_F(LeftOutTest, AProblemThatIsOverIsNotToldWhileOthersWait) {
  options_.patience = std::chrono::minutes(1);
  const std::string tried = scratch_ / "tried";
  const std::vector<std::string> words = {
      "/bin/sh", "-c", "test -e " + tried + " || { touch " + tried + "; exit 1; }"};
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    make(name);
    append(record(name, name, "r").add("words", words));
  }
  std::string at_second;
  int successes = 0;
  when_told_ = [&](const std::string& line) {
    if (line.find("tried again") != std::string::npos) return;
    if (++successes == 2) at_second = contents(problem_);
  };
  EXPECT_TRUE(work()) << told_;
  EXPECT_EQ(successes, 3) << told_;
  EXPECT_NE(told_.find("tried again"), std::string::npos) << told_;
  EXPECT_EQ(at_second, "");
}

// Of a copy, when nobody will go on with it.
TEST_F(LeftOutTest, AKilledOnesHalfGoesWithWhatIsLeftOut) {
  fs::create_directory(there_);
  std::ofstream(there_ + "/.a.json.part-1") << "ha";
  queue("1", "a.json", "a.json");
  EXPECT_TRUE(work());
  EXPECT_FALSE(fs::exists(there_ + "/.a.json.part-1"));
}

}  // namespace
}  // namespace traceagent::tools
