#include "agent/process/unqueued_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

class UnqueuedFilesTest : public ::testing::Test {
 protected:
  UnqueuedFilesTest() {
    ring::IdentityBlock& identity = crafted_.ring().header().identity;
    identity.options_json =
        crafted_.ring().add_name(R"({"output.remote":"/there/","merge.mode":"off"})");
    agent_.ring.ring = crafted_.ring();
    agent_.ring.path = scratch_ / "3-4242-0.ring";
    std::filesystem::create_directories(folder_);
    shut();
  }

  // A file where the queue's folder is to be.
  void shut() { trace::write_whole(trace::upload_folder(folder_), ""); }
  void open() { std::filesystem::remove(trace::upload_folder(folder_)); }

  void queue(int number) {
    const std::string path = folder_ + "/" + std::to_string(number) + ".json";
    unqueued_.queue(agent_, drain::rank_file_upload(crafted_.ring(), window_, path));
  }

  // As if it were there from the beginning: the agent writes no line into what took its number.
  std::string said_at_the_end() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_NONBLOCK), 0);
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    look_at_error_output();
    EXPECT_FALSE(unqueued_.finish(agent_));
    dup2(before, STDERR_FILENO);
    look_at_error_output();
    char text[8192];
    const ssize_t got = read(ends[0], text, sizeof text);
    for (const int fd : {before, ends[0], ends[1]}) close(fd);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }

  // Their numbers, in the journal's order.
  std::vector<int> queued() const {
    const std::string text = trace::read_whole(drain::upload_journal(crafted_.ring()));
    std::vector<int> numbers;
    const std::string key = R"("file": ")";
    for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
      at += key.size();
      numbers.push_back(std::stoi(text.substr(at)));
    }
    return numbers;
  }
  std::size_t noted() const { return ring::waiting_uploads(agent_.ring.path).size(); }
  std::string index() const {
    const std::string path = folder_ + "/index/index-node1.json";
    return std::filesystem::exists(path) ? trace::read_whole(path) : "";
  }

  trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "out";
  drain::CraftedRing crafted_{folder_};
  const ring::Window& window_ = crafted_.window(1500, 3000, 0, 1);
  Agent agent_;
  UnqueuedFiles unqueued_;
};

TEST_F(UnqueuedFilesTest, AreQueuedInTheirOrderWithTheNextFile) {
  queue(1);
  queue(2);
  EXPECT_EQ(noted(), 2u);
  open();
  queue(3);
  EXPECT_EQ(queued(), (std::vector{1, 2, 3}));
  EXPECT_EQ(noted(), 0u);
  EXPECT_FALSE(unqueued_.finish(agent_));
  EXPECT_EQ(index(), "");
}

TEST_F(UnqueuedFilesTest, AreToldOfAtTheEndAndThenWaitNoMore) {
  queue(1);
  queue(2);
  const std::string said = said_at_the_end();
  EXPECT_NE(said.find("/1.json and 1 more files of rank"), std::string::npos) << said;
  EXPECT_NE(index().find(R"("not_queued": "2.json")"), std::string::npos) << index();
  EXPECT_EQ(noted(), 0u) << "who recovers the ring would tell it again";
  EXPECT_EQ(said_at_the_end(), "");
}

// None is lost: what does not fit into memory is beside the ring.
TEST_F(UnqueuedFilesTest, OfVeryManyTheOldestWaitBesideTheRing) {
  constexpr int count = 1010;
  for (int i = 0; i < count; ++i) queue(i);
  EXPECT_EQ(noted(), static_cast<std::size_t>(count));
  EXPECT_EQ(index(), "");
  open();
  EXPECT_TRUE(unqueued_.finish(agent_));
  std::vector<int> all(count);
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(queued(), all);
  EXPECT_EQ(noted(), 0u);
  EXPECT_EQ(index(), "");
}

TEST_F(UnqueuedFilesTest, OfVeryManyAllAreToldOf) {
  for (int i = 0; i < 1003; ++i) queue(i);
  const std::string said = said_at_the_end();
  EXPECT_NE(said.find("/0.json and 1002 more files of rank"), std::string::npos) << said;
  EXPECT_NE(index().find(R"("not_queued": "0.json")"), std::string::npos);
  EXPECT_NE(index().find(R"("not_queued": "1002.json")"), std::string::npos);
}

// A ring in private memory has no list: of what memory has no room for the index tells at once.
TEST_F(UnqueuedFilesTest, WithoutAListTheOldestAreTold) {
  agent_.ring.path.clear();
  for (int i = 0; i < 1001; ++i) queue(i);
  EXPECT_NE(index().find(R"("not_queued": "0.json")"), std::string::npos);
  open();
  EXPECT_TRUE(unqueued_.try_again(agent_));
  EXPECT_EQ(queued().size(), 1000u);
  EXPECT_EQ(queued().front(), 1);
}

}  // namespace
}  // namespace traceagent::process
