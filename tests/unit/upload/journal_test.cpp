#include "tools/upload/journal.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/trace/journal_room.hpp"
#include "agent/trace/queued_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/upload/while_syncing.hpp"
#include "tools/upload/kept_files.hpp"
#include "tools/upload/open_file.hpp"
#include "tools/upload/uploader.hpp"

std::function<void()> traceagent::tools::while_syncing;

// In the place of the C library's.
extern "C" int fsync(int) {
  if (traceagent::tools::while_syncing) traceagent::tools::while_syncing();
  return 0;
}

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
               .add("index", "index-node1")
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

// By the disk, or an editor: its file may not be queued, and nobody would know.
TEST_F(JournalTest, CountsWholeRecordsThatCannotBeRead) {
  queue("1", "a.json");
  std::ofstream(path_, std::ios::app) << "\n{\"queue\": \"2\", \"fi\1le\": \"b.json\"}\n{\"cut";
  queue("3", "c.json");
  Journal journal(folder_, path_);
  EXPECT_EQ(journal.damaged(), 1u);
  for (const char* over : {"1", "3"}) done(over);
  journal.read();
  journal.compact(1);
  EXPECT_EQ(journal.damaged(), 1u);
  EXPECT_EQ(Journal(folder_, path_).damaged(), 1u) << "in the shorter one too";
}

// So that the uploader of a full disk can tell of what has arrived, and remove it.
TEST_F(JournalTest, HasRoomOnTheDiskForRecordsToCome) {
  queue("1", "a.json");
  const auto size = fs::file_size(path_);
  trace::reserve_room(path_);
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(fs::file_size(path_), size);
  EXPECT_GE(facts.st_blocks * 512, 64 << 10);
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

TEST_F(JournalTest, EachCommandHasTheLatestOfAFile) {
  int id = 0;
  const auto queue_both = [&] {
    for (const char* script : {"archive", "notify"}) {
      const std::vector<std::string> words = {"sh", script, "{}"};
      append(trace::JsonObject()
                 .add("queue", std::to_string(++id))
                 .add("file", "node0.json")
                 .add("words", words)
                 .add("kind", "node"));
    }
  };
  const auto replaced = [](const Journal& journal) {
    std::string ids;
    for (const Upload& each : journal.uploads()) ids += each.is_replaced ? each.id : "";
    return ids;
  };
  queue_both();
  queue_both();
  Journal journal(folder_, path_);
  EXPECT_EQ(replaced(journal), "12");
  for (const char* over : {"1", "2", "3"}) done(over);
  journal.read();
  journal.compact(1);
  queue_both();
  journal.read();
  EXPECT_EQ(replaced(journal), "4");
  EXPECT_EQ(pending_in(journal), 2u);
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

TEST_F(JournalTest, AnotherHostsMergeIsOfTheFilesThatItNames) {
  for (const char* id : {"1", "2"}) queue(id, id, 0, true);
  done("1");
  done("2");
  append(trace::JsonObject().add("ended", "r").add("files", std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(removable(), "1");
  append(trace::JsonObject().add("ended", "q").add("files", std::vector<std::string>{"2"}));
  EXPECT_EQ(removable(), "1");
  append(trace::JsonObject().add("ended", "r").add("files", std::vector<std::string>{"2"}));
  EXPECT_EQ(removable(), "12");
  queue("3", "3", 0, true);
  done("3");
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

std::string state_of(const Journal& journal) {
  std::string text;
  for (const Upload& upload : journal.uploads()) {
    text += upload.id + ":" + upload.file + ":" + upload.where() + ":" + upload.run + upload.index;
    for (const bool flag : {upload.merge, upload.has_ended, upload.is_done, upload.is_removed,
                            upload.is_gone, upload.is_begun}) {
      text += flag ? "1" : "0";
    }
    text += upload.sha256 + upload.multipart + std::to_string(upload.part_bytes);
    for (const auto& [number, etag] : upload.parts) text += std::to_string(number) + etag;
    text += "\n";
  }
  return text;
}

TEST_F(JournalTest, CompactionForgetsWhatIsOverAndNothingElse) {
  for (const char* id : {"1", "2", "3", "4", "5", "6"}) queue(id, id, 1, true);
  queue("7", "7");
  for (const char* id : {"1", "2", "3", "7"}) done(id);
  append(trace::JsonObject().add("removed", "1"));
  append(trace::JsonObject().add("gone", "4").add("why", "w"));
  append(trace::JsonObject().add("ended", "r"));
  queue("8", "\"8\\ \xc3\xbc", 1);
  append(trace::JsonObject().add("begin", "5").add("bytes", 9).add("sha256", "s"));
  append(trace::JsonObject().add("multipart", "5").add("upload", "u&").add("part_bytes", 5));
  append(trace::JsonObject().add("part", "5").add("number", 2).add("etag", "\"e\""));
  append(trace::JsonObject().add("removed", "2"));
  Journal before(folder_, path_);
  Journal other(folder_, path_);  // of another process, that reads on
  before.compact(1 << 20);
  EXPECT_EQ(before.uploads().size(), 8u) << "it is too short for that";
  append(trace::JsonObject().add("done", "6"));
  before.compact(1);
  EXPECT_EQ(before.earlier_done(), 3u);
  EXPECT_EQ(before.earlier_removed(), 2u);
  Journal after(folder_, path_);
  EXPECT_EQ(state_of(after), state_of(before));
  EXPECT_EQ(after.earlier_done(), 3u);
  EXPECT_EQ(after.earlier_removed(), 2u);
  std::string ids;
  for (const Upload& upload : after.uploads()) ids += upload.id;
  EXPECT_EQ(ids, "3568");
  EXPECT_EQ(removable(), "3");
  EXPECT_EQ(trace::pending_uploads(path_), 2u);
  queue("9", "9");
  other.read();
  EXPECT_EQ(other.uploads().size(), 9u);
  EXPECT_EQ(pending_in(other), 3u);
  before.read();
  EXPECT_EQ(before.uploads().back().id, "9");
  EXPECT_FALSE(fs::exists(path_ + ".new"));
}

TEST_F(JournalTest, CompactionForgetsNoPartsThatTheServerHasStill) {
  const auto parts = [&](const char* id, const char* what, const char* multipart) {
    append(trace::JsonObject().add(what, id).add("upload", multipart));
  };
  for (const char* id : {"1", "2", "3", "4"}) {
    append(trace::JsonObject()
               .add("queue", id)
               .add("file", id)
               .add("target", "s3://b/" + std::string(id)));
    parts(id, "multipart", id);
  }
  append(trace::JsonObject().add("gone", "1").add("left_out", true));
  parts("2", "abandon", "2");
  parts("2", "multipart", "22");
  done("2");
  for (const char* id : {"3", "4"}) parts(id, "abandon", id);
  done("3");
  for (const char* id : {"3", "4"}) parts(id, "abandoned", id);
  append(trace::JsonObject().add("gone", "4").add("why", "w"));
  Journal before(folder_, path_);
  before.compact(1);
  Journal after(folder_, path_);
  ASSERT_EQ(after.uploads().size(), 2u);
  EXPECT_EQ(unwanted_in(after), 2u);
  EXPECT_EQ(pending_in(after), 0u);
  EXPECT_EQ(after.uploads()[0].multipart, "1");
  EXPECT_EQ(after.uploads()[1].to_abandon, std::set<std::string>{"2"});
  EXPECT_EQ(after.uploads()[1].multipart, "") << "it was joined";
  EXPECT_EQ(after.left_out(), 1u);
  EXPECT_EQ(after.earlier_done(), 1u);
}

TEST_F(JournalTest, CountsWhatRanksLeaveOutOnceEach) {
  const auto leave_out = [&](const char* id) {
    append(trace::JsonObject().add("gone", id).add("left_out", true));
  };
  for (const char* id : {"1", "2", "3", "4", "5"}) queue(id, id, 1);
  leave_out("1");
  append(trace::JsonObject().add("gone", "1").add("why", "the file is not there any more"));
  leave_out("2");
  leave_out("3");
  done("3");  // it was on its way
  append(trace::JsonObject().add("gone", "4").add("why", "w"));
  Journal journal(folder_, path_);
  EXPECT_EQ(journal.left_out(), 2u);
  EXPECT_EQ(pending_in(journal), 1u);
  EXPECT_EQ(trace::pending_uploads(path_), 1u);
  journal.compact(1);
  EXPECT_LT(journal.uploads().size(), 5u);
  EXPECT_EQ(journal.left_out(), 2u);
  leave_out("5");
  journal.read();
  EXPECT_EQ(journal.left_out(), 3u);
  EXPECT_EQ(Journal(folder_, path_).left_out(), 3u);
}

TEST_F(JournalTest, NothingIsAppendedToAJournalThatIsGone) {
  constexpr int count = 2000;
  std::atomic<std::uint64_t> shorter = 0;
  std::thread ranks([&] {
    for (int i = 0; i < count; ++i) {
      // However fast the two are, it is made shorter in either half. It has to grow meanwhile: who
      // could not make it shorter tries again when it is an eighth longer.
      while (i == count / 2 && shorter == 0) done("nobody's");
      while (i == count / 4 * 3 && shorter < 2) done("nobody's");
      const std::string id = std::to_string(i);
      queue(id.c_str(), id.c_str());
      if (i % 8 != 0) done(id.c_str());
    }
  });
  Journal journal(folder_, path_);
  std::uint64_t known = 0;
  while (journal.uploads().size() + journal.earlier_done() < count) {
    journal.read();
    journal.compact(1);
    shorter += journal.earlier_done() > known ? 1 : 0;
    known = journal.earlier_done();
  }
  ranks.join();
  journal.read();
  const Journal all(folder_, path_);
  EXPECT_EQ(all.uploads().size() + all.earlier_done(), static_cast<std::size_t>(count));
  EXPECT_EQ(pending_in(all), static_cast<std::size_t>(count / 8));
  EXPECT_GE(shorter.load(), 2u);
}

TEST_F(JournalTest, WhoAppendsNeedNotWaitForTheDisk) {
  for (const char* id : {"1", "2", "3"}) queue(id, id);
  for (const char* id : {"1", "2", "3"}) done(id);
  Journal journal(folder_, path_);
  int syncs = 0;
  while_syncing = [&] {
    if (++syncs == 1) queue("4", "4");
  };
  journal.compact(1);
  while_syncing = nullptr;
  EXPECT_GE(syncs, 2) << "written again with what was appended meanwhile";
  EXPECT_EQ(journal.earlier_done(), 3u);
  const Journal after(folder_, path_);
  ASSERT_EQ(after.uploads().size(), 1u);
  EXPECT_EQ(after.uploads()[0].id, "4");
  EXPECT_EQ(state_of(after), state_of(journal));
  EXPECT_FALSE(fs::exists(path_ + ".new"));
}

TEST_F(JournalTest, IsLockedAloneOnlyWhileItHasItsName) {
  queue("1", "1");
  const OpenFile old(path_, O_RDWR);
  EXPECT_TRUE(trace::lock_journal_alone(old.fd(), path_));
  fs::copy_file(path_, path_ + ".new");
  fs::rename(path_ + ".new", path_);
  EXPECT_FALSE(trace::lock_journal_alone(old.fd(), path_));
}

TEST_F(JournalTest, WhatCannotBeAppendedIsTold) {
  queue("1", "1");
  const OpenFile held(path_, O_RDWR);
  ASSERT_TRUE(trace::lock_journal_alone(held.fd(), path_));
  const std::string problem = trace::append_record(path_, trace::JsonObject().add("done", "1"));
  EXPECT_NE(problem.find(path_), problem.npos);
  EXPECT_EQ(trace::pending_uploads(path_), 1u);
}

TEST_F(JournalTest, TellsWhetherItCouldBeRead) {
  queue("1", "1");
  Journal journal(folder_, path_);
  EXPECT_TRUE(journal.read());
  fs::remove(path_);
  EXPECT_TRUE(journal.read());
  fs::create_directory(path_);
  EXPECT_FALSE(journal.read());
}

TEST_F(JournalTest, OthersMayNotHaveWrittenIt) {
  queue("1", "../outside");
  queue("2", "/etc/hostname");
  EXPECT_EQ(pending_in(Journal(folder_, path_)), 0u);
  fs::permissions(path_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THROW(Journal(folder_, path_), std::runtime_error);
}

// To say that nothing is queued would be a lie.
// Who may write the folder puts another one in its place, long after the first was judged.
TEST_F(JournalTest, WhatComesInItsPlaceIsJudgedToo) {
  queue("1", "1");
  Journal journal(folder_, path_);
  ASSERT_EQ(journal.uploads().size(), 1u);
  fs::remove(path_);
  queue("2", "1");
  fs::permissions(path_, fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(journal.read());
  EXPECT_NE(journal.unreadable().find("others may write it"), std::string::npos);
  EXPECT_EQ(journal.uploads().size(), 1u);
}

TEST_F(JournalTest, AQueueThatCannotBeReadIsNotAnEmptyOne) {
  EXPECT_TRUE(journals_in(folder_).empty());
  std::ofstream(trace::upload_folder(folder_)) << "no folder";
  EXPECT_THROW(journals_in(folder_), std::runtime_error);
}

TEST_F(JournalTest, HostsNamesAreFileNames) {
  EXPECT_EQ(trace::journal_path("/f", "../a b"), "/f/.traceagent-upload/_._a_b.journal");
  EXPECT_EQ(trace::journal_path("/f", ""), "/f/.traceagent-upload/_.journal");
}

}  // namespace
}  // namespace traceagent::tools
