#include "agent/ring/written_files.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace traceagent::ring {
namespace {

class WrittenFilesTest : public testing::Test {
 protected:
  WrittenFilesTest() {
    std::string name = "/tmp/traceagent-files-XXXXXX";
    folder_ = mkdtemp(name.data());
    ring_ = folder_ + "/0-1-0.ring";
  }
  ~WrittenFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_, ring_;
};

TEST_F(WrittenFilesTest, AreListedInOrderAndOnce) {
  EXPECT_EQ(written_files(ring_), std::vector<std::string>{});
  note_written_file(ring_, "/a/first.json");
  note_written_file(ring_, "/a/second file.json");
  note_written_file(ring_, "/a/first.json");
  EXPECT_EQ(written_files(ring_),
            (std::vector<std::string>{"/a/first.json", "/a/second file.json"}));
  EXPECT_EQ(written_files_path(ring_), folder_ + "/0-1-0.files");
}

TEST_F(WrittenFilesTest, HalfALineIsNoFile) {
  std::ofstream(written_files_path(ring_)) << "/a/whole.json\n/a/hal";
  EXPECT_EQ(written_files(ring_), std::vector<std::string>{"/a/whole.json"});
}

// Its writer was killed over it: who recovers adds to the list.
TEST_F(WrittenFilesTest, HalfALineIsNotJoinedToTheNext) {
  for (const char* half : {"/a/whole.json\n/a/hal", "/a/whole.json\n"}) {
    std::ofstream(written_files_path(ring_)) << half;
    note_written_file(ring_, "/a/next.json");
    EXPECT_EQ(written_files(ring_), (std::vector<std::string>{"/a/whole.json", "/a/next.json"}));
  }
  bool is_whole = true;
  std::ofstream(written_files_path(ring_)) << "/a/hal";
  note_written_file(ring_, "/a/next.json");
  EXPECT_EQ(written_files(ring_, &is_whole), std::vector<std::string>{"/a/next.json"});
  EXPECT_FALSE(is_whole) << "what the half was of is not known";
}

TEST_F(WrittenFilesTest, FollowNoLink) {
  const std::string target = folder_ + "/target";
  std::ofstream(target) << "/a/theirs.json\n";
  std::filesystem::create_symlink(target, written_files_path(ring_));
  note_written_file(ring_, "/a/mine.json");
  EXPECT_EQ(written_files(ring_), std::vector<std::string>{});
  EXPECT_EQ(std::filesystem::file_size(target), 15u);
}

// Until all are queued: half a line is none.
TEST_F(WrittenFilesTest, TellsWhichWaitForTheQueue) {
  using Texts = std::vector<std::string>;
  note_none_waits(ring_);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "no list is made for that";
  EXPECT_EQ(waiting_uploads(ring_), Texts{});
  note_waiting_upload(ring_, R"({"queue": "1"})");
  note_written_file(ring_, "/a/first.json");
  note_none_waits(ring_);
  EXPECT_EQ(waiting_uploads(ring_), Texts{});
  note_waiting_upload(ring_, R"({"queue": "2"})");
  note_written_file(ring_, "/a/second.json");
  note_waiting_upload(ring_, R"({"queue": "3"})");
  std::ofstream(written_files_path(ring_), std::ios::app) << "{\"queue\": \"4";
  EXPECT_EQ(waiting_uploads(ring_), (Texts{R"({"queue": "2"})", R"({"queue": "3"})"}));
  EXPECT_EQ(written_files(ring_), (Texts{"/a/first.json", "/a/second.json"}));
}

// What nobody would read is not noted: its process tells of it.
TEST_F(WrittenFilesTest, AreNotNotedWhereTheListIsTooLong) {
  constexpr std::size_t longest = 4 << 20;
  const std::string record = R"({"queue": "1"})";
  std::ofstream(written_files_path(ring_)) << std::string(longest - record.size() - 3, 'a') << '\n';
  EXPECT_TRUE(note_waiting_upload(ring_, record));
  EXPECT_EQ(waiting_uploads(ring_), std::vector<std::string>{record});
  EXPECT_FALSE(note_waiting_upload(ring_, record));
}

// It lies in memory, of which a run of weeks must not take ever more.
TEST_F(WrittenFilesTest, IsBounded) {
  constexpr std::size_t most = 2 << 20;
  const std::string name(1000, 'a');
  std::size_t noted = 0;
  while (note_written_file(ring_, name + std::to_string(noted)) && noted < most) ++noted;
  EXPECT_LE(std::filesystem::file_size(written_files_path(ring_)), most);
  bool is_whole = false;
  EXPECT_EQ(written_files(ring_, &is_whole).size(), noted);
  EXPECT_GT(noted * (name.size() + 8), most) << "all the room is used";
  EXPECT_TRUE(note_waiting_upload(ring_, R"({"queue": "1"})")) << "there is room for these";
}

TEST_F(WrittenFilesTest, ARingWithoutAPathHasNone) {
  note_written_file("", "/a/first.json");
  EXPECT_EQ(written_files(""), std::vector<std::string>{});
}

}  // namespace
}  // namespace traceagent::ring
