#include "tools/upload/journal.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "agent/trace/upload_journal.hpp"
#include "tools/upload/kept_files.hpp"
#include "tools/upload/uploader.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    char name[] = "/tmp/traceagent-test-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = trace::journal_path(folder_, "host");
  }
  ~JournalTest() override { fs::remove_all(folder_); }

  void append(const trace::JsonObject& record) {
    EXPECT_EQ(trace::append_record(path_, record), "");
  }
  void queue(const char* id, const char* file, int keep = -1, bool merge = false) {
    append(trace::JsonObject()
               .add("queue", id)
               .add("file", file)
               .add("target", std::string("/there/") + file)
               .add("kind", "rank")
               .add("run", "r")
               .add("process", 0)
               .add("keep", keep)
               .add("merge", merge));
  }
  void done(const char* id) { append(trace::JsonObject().add("done", id)); }
  std::string removable() {
    Journal journal(folder_, path_);
    std::string ids;
    for (const Upload* upload : files_to_remove(journal)) ids += upload->id;
    return ids;
  }

  std::string folder_, path_;
};

TEST_F(JournalTest, ReadsWhatIsAppendedAndPassesOverHalfARecord) {
  queue("1", "a.json");
  Journal journal(folder_, path_);
  std::ofstream(path_, std::ios::app) << "{\"queue\":\"2\",\"fi";
  journal.read();
  queue("3", "c.json");
  append(trace::JsonObject().add("multipart", "3").add("upload", "u"));
  append(trace::JsonObject().add("part", "3").add("number", 1).add("etag", "\"e\""));
  journal.read();
  ASSERT_EQ(journal.uploads().size(), 2u);
  EXPECT_EQ(journal.uploads()[1].multipart, "u");
  EXPECT_EQ(journal.uploads()[1].parts.at(1), "\"e\"");
  EXPECT_EQ(pending_in(journal), 2u);
  EXPECT_EQ(trace::pending_uploads(path_), 2u);
}

TEST_F(JournalTest, AFileThatIsQueuedAgainIsUploadedOnce) {
  queue("1", "node0.json");
  queue("2", "node0.json");
  Journal journal(folder_, path_);
  EXPECT_TRUE(journal.uploads()[0].is_replaced);
  EXPECT_EQ(pending_in(journal), 1u);
  done("2");
  queue("3", "node0.json");
  journal.read();
  EXPECT_FALSE(journal.uploads()[1].is_replaced);
  EXPECT_EQ(pending_in(journal), 1u);
}

TEST_F(JournalTest, KeepsTheNewestThatAreThere) {
  for (const char* id : {"1", "2", "3", "4"}) queue(id, id, 1);
  EXPECT_EQ(removable(), "");
  done("1");
  EXPECT_EQ(removable(), "");
  done("2");
  EXPECT_EQ(removable(), "1");
  done("4");
  EXPECT_EQ(removable(), "12");
  append(trace::JsonObject().add("removed", "1"));
  EXPECT_EQ(removable(), "2");
}

TEST_F(JournalTest, TheNewestWaitsForTheNodesFile) {
  for (const char* id : {"1", "2"}) queue(id, id, 0, true);
  done("1");
  done("2");
  EXPECT_EQ(removable(), "1");
  append(trace::JsonObject().add("ended", "r"));
  EXPECT_EQ(removable(), "12");
}

TEST_F(JournalTest, AFileOfAllCyclesIsOneFile) {
  queue("1", "latest.json", 0);
  done("1");
  EXPECT_EQ(removable(), "1");
  queue("2", "latest.json", 0);
  EXPECT_EQ(removable(), "");
  done("2");
  EXPECT_EQ(removable(), "2");
}

TEST_F(JournalTest, ALateRankWaitsForAMergeOfItsOwn) {
  queue("1", "1", 0, true);
  done("1");
  append(trace::JsonObject().add("ended", "r"));
  queue("2", "2", 0, true);
  done("2");
  EXPECT_EQ(removable(), "1");
  append(trace::JsonObject().add("ended", "r"));
  EXPECT_EQ(removable(), "12");
}

TEST_F(JournalTest, OthersMayNotHaveWrittenIt) {
  queue("1", "../outside");
  queue("2", "/etc/hostname");
  EXPECT_EQ(pending_in(Journal(folder_, path_)), 0u);
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THROW(Journal(folder_, path_), std::runtime_error);
}

TEST_F(JournalTest, HostsNamesAreFileNames) {
  EXPECT_EQ(trace::journal_path("/f", "../a b"), "/f/.traceagent-upload/_._a_b.journal");
  EXPECT_EQ(trace::journal_path("/f", ""), "/f/.traceagent-upload/_.journal");
}

}  // namespace
}  // namespace traceagent::tools
