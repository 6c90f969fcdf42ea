#include "agent/process/full_queue.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/process/agent.hpp"
#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace {
bool is_disk_full = false;
int refused_records = 0;
std::function<void()> after_first_left_out;
}  // namespace

// In the place of the C library's.
extern "C" ssize_t write(int fd, const void* data, size_t size) {
  const std::string_view text(static_cast<const char*>(data), size);
  if (is_disk_full && text.starts_with("\n{\"gone\"")) {
    ++refused_records;
    errno = ENOSPC;
    return -1;
  }
  const ssize_t written = syscall(SYS_write, fd, data, size);
  if (text.starts_with("\n{\"gone\"") && after_first_left_out) {
    std::exchange(after_first_left_out, nullptr)();
  }
  return written;
}

namespace traceagent::process {
namespace {

constexpr std::uint64_t file_bytes = 1000;

class FullQueueTest : public testing::Test {
 protected:
  // Room for three files.
  FullQueueTest() {
    agent_.ring.ring = crafted_.ring();
    agent_.options.output_remote = "/there/";
    agent_.options.output_keep = 2;
    agent_.options.upload_queue = 3 * file_bytes + file_bytes / 2;
    std::filesystem::create_directories(folder_);
  }
  ~FullQueueTest() override { is_disk_full = false; }

  // Each letter is a file: w waits, u is uploaded, n found no room in the queue.
  void have(const std::string& states) {
    for (const char state : states) {
      const std::string name = std::to_string(agent_.kept_files.size() + 1), path = path_of(name);
      std::ofstream(path) << name;
      agent_.kept_files.push_back({path, file_bytes});
      if (state == 'n') continue;
      trace::JsonObject record;
      record.add("queue", name).add("file", name).add("process", 3).add("keep", 2);
      append(record);
      if (state == 'u') append(trace::JsonObject().add("done", name));
    }
  }
  void append(const trace::JsonObject& record) {
    EXPECT_EQ(trace::append_record(drain::upload_journal(crafted_.ring()), record), "");
  }
  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  // Their names, after it was seen that they are what the agent holds to be here.
  std::string here_when_bounded() {
    queue_.bound(agent_, true);
    std::string names;
    for (const KeptFile& file : agent_.kept_files) {
      names += std::filesystem::path(file.path).filename();
      EXPECT_TRUE(std::filesystem::exists(file.path)) << file.path;
    }
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    EXPECT_EQ(files, agent_.kept_files.size());
    return names;
  }
  std::string journal() const { return trace::read_whole(drain::upload_journal(crafted_.ring())); }

  trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "out";
  drain::CraftedRing crafted_{folder_};
  Agent agent_;
  FullQueue queue_;
};

TEST_F(FullQueueTest, WhileThereIsRoomAllStay) {
  have("uww");
  EXPECT_EQ(here_when_bounded(), "123");
  EXPECT_EQ(queue_.left_out(), 0u);
}

TEST_F(FullQueueTest, WhatIsKeptTakesNoRoomInTheQueue) {
  agent_.options.output_keep = 5;
  have("uuuuuwww");
  EXPECT_EQ(here_when_bounded(), "12345678");
  EXPECT_EQ(queue_.left_out(), 0u);
}

TEST_F(FullQueueTest, TheOldestThatWaitGo) {
  have("uwwwwwu");
  EXPECT_EQ(here_when_bounded(), "14567");
  EXPECT_EQ(queue_.left_out(), 2u);
  EXPECT_EQ(trace::count_of(journal(), "left_out"), 2u);
}

class FullDiskTest : public FullQueueTest {
 protected:
  // For three files.
  FullDiskTest() {
    agent_.options.upload_queue = 1 << 30;
    agent_.options.budget_disk = 2 * (3 * file_bytes + file_bytes / 2);
  }
};

TEST_F(FullDiskTest, UploadedFilesGoBeforeAnyThatWaits) {
  have("wuwuw");
  EXPECT_EQ(here_when_bounded(), "135");
  EXPECT_EQ(queue_.left_out(), 0u);
  EXPECT_EQ(agent_.files_removed, 2u);
  for (const char* record : {R"({"removed": "2"})", R"({"removed": "4"})"}) {
    EXPECT_NE(journal().find(record), std::string::npos) << record;
  }
  EXPECT_EQ(trace::count_of(trace::read_whole(folder_ + "/index/index-node1.json"), "removed"), 2u);
}

TEST_F(FullDiskTest, WhatHasTheNameOfAnUploadedOneStays) {
  have("wwwuw");
  append(trace::JsonObject().add("done", "2").add("modified", 1));
  EXPECT_EQ(here_when_bounded(), "235") << "it was written since, and 1 waits as well";
  EXPECT_EQ(agent_.files_removed, 2u);
}

TEST_F(FullDiskTest, ThenTheOldestThatWait) {
  have("uwwwwu");
  EXPECT_EQ(here_when_bounded(), "456") << "the newest stays, also where it is uploaded";
  EXPECT_EQ(queue_.left_out(), 2u);
}

TEST_F(FullDiskTest, WhatIsKeptStaysWhereNothingWaits) {
  have("uuuuuw");
  EXPECT_EQ(here_when_bounded(), "123456");
}

// The server is back: what it has by now makes room.
TEST_F(FullQueueTest, FilesThatArriveMeanwhileMakeRoom) {
  have("wwwwwwwwww");
  after_first_left_out = [this] {
    for (const char* file : {"2", "3", "4", "5", "6", "7"}) {
      append(trace::JsonObject().add("done", file));
    }
  };
  EXPECT_EQ(here_when_bounded(), "2345678910");
  EXPECT_EQ(queue_.left_out(), 1u);
}

TEST_F(FullQueueTest, TheNewestNeverGoes) {
  agent_.options.upload_queue = 1;
  have("www");
  EXPECT_EQ(here_when_bounded(), "3");
}

TEST_F(FullQueueTest, WhatFoundNoRoomInTheQueueStays) {
  have("nwwwnw");
  EXPECT_EQ(here_when_bounded(), "13456");
}

TEST_F(FullQueueTest, WhatIsOnItsWayStays) {
  have("wwww");
  const trace::DeliveryLock delivers(path_of("1"), trace::DeliveryLock::Kind::deliver);
  EXPECT_EQ(here_when_bounded(), "134");
}

TEST_F(FullQueueTest, WhatCannotBeNotedEndsTheLook) {
  have("wwwwwwwwww");
  is_disk_full = true;
  refused_records = 0;
  EXPECT_EQ(here_when_bounded(), "12345678910");
  EXPECT_EQ(refused_records, 1);
  is_disk_full = false;
  EXPECT_EQ(here_when_bounded(), "8910");
  EXPECT_EQ(queue_.left_out(), 7u);
}

}  // namespace
}  // namespace traceagent::process
