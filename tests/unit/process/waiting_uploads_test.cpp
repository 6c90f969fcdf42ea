#include "agent/process/waiting_uploads.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/process/upload_problems.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

class WaitingUploadsTest : public testing::Test {
 protected:
  WaitingUploadsTest() { std::filesystem::create_directory(scratch_ / "out"); }

  void queue(const std::string& id, const std::string& file, const std::string& run,
             const std::string& target, const std::string& kind = "rank") {
    trace::JsonObject record;
    record.add("queue", id).add("file", file).add("target", target);
    append(record.add("kind", kind).add("run", run));
  }
  void append(const trace::JsonObject& record) {
    EXPECT_EQ(trace::append_record(path_, record), "");
  }

  const trace::ScratchFolder scratch_;
  const std::string path_ = trace::journal_path(scratch_ / "out", "host");
};

TEST_F(WaitingUploadsTest, AreCountedByTheirRuns) {
  queue("1", "a.json", "run \"one\"", "/dead/a.json");
  queue("2", "b.json", "two", "/there/b.json");
  queue("3", "c.json", "two", "/there/c.json");
  WaitingUploads waiting(path_);
  ASSERT_TRUE(waiting.read());
  EXPECT_EQ(waiting.of_run("run \"one\""), 1u);
  EXPECT_EQ(waiting.of_run("two"), 2u);
  append(trace::JsonObject().add("done", "2").add("bytes", 1));
  append(trace::JsonObject().add("gone", "3").add("left_out", true));
  queue("2", "b.json", "two", "/there/b.json");  // by who merges, a moment later
  ASSERT_TRUE(waiting.read());
  EXPECT_EQ(waiting.of_run("two"), 0u);
  EXPECT_EQ(waiting.all(), 1u);
}

TEST_F(WaitingUploadsTest, WhatIsQueuedAgainWaitsOnce) {
  queue("1", "rank0.json", "r", "/there/1.json");
  queue("2", "rank0.json", "r", "/there/2.json");
  queue("3", "node0.json", "r", "/there/node0.json", "node");
  queue("4", "node0.json", "r", "/there/node0.json", "node");
  queue("5", "node0.json", "", "/elsewhere/node0.json", "hand");
  WaitingUploads waiting(path_);
  ASSERT_TRUE(waiting.read());
  EXPECT_EQ(waiting.all(), 3u);
  append(trace::JsonObject().add("gone", "1"));
  ASSERT_TRUE(waiting.read());
  EXPECT_EQ(waiting.all(), 3u);
}

// A full disk's, or an editor's.
TEST_F(WaitingUploadsTest, DamagedLinesAreNone) {
  queue("1", "a.json", "r", "/there/a.json");
  for (const char* line : {"}", "{}", "{\"", "{\"done}", "x\"done\": \"1\"}"}) {
    EXPECT_EQ(trace::append_record(path_, std::string_view(line)), "");
  }
  WaitingUploads waiting(path_);
  ASSERT_TRUE(waiting.read());
  EXPECT_EQ(waiting.all(), 1u);
}

TEST_F(WaitingUploadsTest, AreToldBehindTheNewestProblem) {
  const std::string text = "place-1 a.json: HTTP 503\nplace-2 b.json: HTTP 403\nlost.json: left\n";
  queue("1", "a.json", "r", "/there/a.json");
  using Lines = std::vector<std::string>;
  EXPECT_EQ(
      upload_problems(text, path_, "out"),
      (Lines{"a.json: HTTP 503: 1 file waits: traceagent upload --resume out", "lost.json: left"}));
  const std::vector<std::string> words = {"put", "{}"};
  trace::JsonObject command;
  command.add("queue", "2").add("file", "b.json").add("words", words).add("kind", "rank");
  append(command.add("run", "r"));
  EXPECT_EQ(upload_problems(text, path_, "out").front(),
            "a.json: HTTP 503: 2 files wait: traceagent upload --resume out --allow-commands");
  EXPECT_EQ(upload_problems("", path_, "out"), Lines());
}

}  // namespace
}  // namespace traceagent::process
