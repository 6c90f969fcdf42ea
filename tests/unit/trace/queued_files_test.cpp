#include "agent/trace/queued_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

class QueuedFilesTest : public testing::Test {
 protected:
  void line(const std::string& text) { journal_ << "\n" << text << "\n" << std::flush; }
  void queue(const std::string& id, const std::string& file, int keep = 1, int process = 0) {
    line(R"({"queue": ")" + id + R"(","file": ")" + file + R"(","process": )" +
         std::to_string(process) + R"(,"keep": )" + std::to_string(keep) + "}");
  }
  void done(const std::string& id) { line(R"({"done": ")" + id + R"(","bytes": 1})"); }
  void removed(const std::string& id) { line(R"({"removed": ")" + id + R"("})"); }
  void left_out(const std::string& id) { line(R"({"gone": ")" + id + R"(","left_out": true})"); }

  // By their names: their ids, with + where they are uploaded.
  std::string known(QueuedFiles& files) const {
    EXPECT_TRUE(files.read());
    std::string text;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      const QueuedFile* const file = files.find(name);
      if (file != nullptr) text += name + file->id + (file->is_uploaded ? "+ " : " ");
    }
    return text;
  }
  std::string known() const {
    QueuedFiles files(path_);
    return known(files);
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_ / "journal";
  std::ofstream journal_{path_};
};

TEST_F(QueuedFilesTest, WaitUntilTheyAreUploadedAndAreKnownUntilTheyAreRemoved) {
  QueuedFiles files(path_);
  EXPECT_EQ(known(files), "");
  line(R"({"compacted":"c","done":7,"removed":3,"left_out":2})");
  for (const char* id : {"1", "2", "3", "4", "5"})
    queue(id, std::string(1, char('`' + id[0] - '0')));
  done("2");
  left_out("3");
  journal_ << "\n{\"done\":\"1\"\n";  // half a record
  done("9");
  EXPECT_EQ(known(files), "a1 b2+ d4 e5 ");
  EXPECT_EQ(files.waiting(), 3u);
  EXPECT_EQ(files.uploaded(), 1u);
  done("3");  // told twice: it was on its way when it was left out
  line(R"({"gone":"4","why":"w"})");
  removed("2");
  EXPECT_EQ(known(files), "a1 e5 ");
  EXPECT_EQ(files.waiting(), 2u);
  EXPECT_EQ(pending_uploads(path_), 2u);
}

TEST_F(QueuedFilesTest, OfAFileThatIsQueuedAgainTheLatestCounts) {
  QueuedFiles files(path_);
  queue("1", "a");
  queue("2", "b");
  queue("3", "a");
  done("1");
  EXPECT_EQ(known(files), "a3 b2 ");
  done("3");
  queue("4", "a");
  EXPECT_EQ(known(files), "a4 b2 ");
  EXPECT_EQ(files.waiting(), 2u);
}

// By who merges, and by its rank.
TEST_F(QueuedFilesTest, ARecordThatIsThereTwiceIsOne) {
  QueuedFiles files(path_);
  queue("1", "a", -1);
  queue("2", "b");
  done("1");
  left_out("2");
  queue("3", "c");
  done("3");
  for (const char* id : {"1", "2", "3"}) queue(id, std::string(1, char('`' + id[0] - '0')), -1);
  EXPECT_EQ(known(files), "c3+ ");
  EXPECT_EQ(files.waiting(), 0u);
}

TEST_F(QueuedFilesTest, OfOneProcessAlone) {
  queue("1", "a", 1, 3);
  queue("2", "b", 1, 4);
  line(R"({"queue": "5","file": "c","kind": "hand"})");
  QueuedFiles files(path_, 3);
  EXPECT_EQ(known(files), "a1 ");
  EXPECT_EQ(files.waiting(), 1u);
  EXPECT_EQ(known(), "a1 b2 c5 ");
}

TEST_F(QueuedFilesTest, AJournalInItsPlaceIsReadFromItsBeginning) {
  QueuedFiles files(path_);
  queue("1", "a");
  queue("2", "b");
  EXPECT_EQ(known(files), "a1 b2 ");
  std::filesystem::remove(path_);
  EXPECT_EQ(known(files), "");
  journal_ = std::ofstream(path_);
  line(R"({"compacted":"c","done":1})");
  queue("2", "b");
  queue("3", "c");
  EXPECT_EQ(known(files), "b2 c3 ");
  EXPECT_EQ(files.waiting(), 2u);
}

TEST_F(QueuedFilesTest, ALineThatIsFarTooLongIsPassedOver) {
  QueuedFiles files(path_);
  queue("1", "a");
  journal_ << "{\"queue\": \"2\",\"file\": \"b" << std::string(3 << 20, 'x') << std::flush;
  EXPECT_EQ(known(files), "a1 ");
  journal_ << "b\"}\n" << std::flush;
  queue("3", "c");
  EXPECT_EQ(known(files), "a1 c3 ");
  EXPECT_EQ(known(), "a1 c3 ");
}

// What another user has put there would hold the job.
TEST_F(QueuedFilesTest, APipeInTheJournalsPlaceIsNotWaitedFor) {
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  QueuedFiles files(path_);
  EXPECT_FALSE(files.read());
  EXPECT_EQ(pending_uploads(path_), 0u);
}

// A server that is away for weeks: each byte is read once, and memory is for what waits.
TEST_F(QueuedFilesTest, TenThousandFilesBeyondTheBoundTakeNoMoreThanTheirJournal) {
  constexpr int most_waiting = 100, count = 10'000;
  QueuedFiles files(path_);
  const auto id_of = [](int number) { return std::to_string(number); };
  std::size_t most_known = 0;
  for (int number = 0; number < count; ++number) {
    queue(id_of(number), "file" + id_of(number));
    ASSERT_TRUE(files.read());
    if (number >= most_waiting) left_out(id_of(number - most_waiting));
    ASSERT_TRUE(files.read());
    most_known = std::max(most_known, files.known());
  }
  EXPECT_EQ(files.waiting(), static_cast<std::size_t>(most_waiting));
  EXPECT_EQ(files.bytes_read(), std::filesystem::file_size(path_));
  EXPECT_LE(most_known, 1200u);
}

}  // namespace
}  // namespace traceagent::trace
