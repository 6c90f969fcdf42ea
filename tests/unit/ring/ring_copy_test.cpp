#include "agent/ring/ring_copy.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {
namespace {

namespace fs = std::filesystem;

class RingCopyTest : public testing::Test {
 protected:
  RingCopyTest()
      : folder_(fs::path("/dev/shm") / ("traceagent-test-" + std::to_string(getpid()))),
        path_(folder_ / "0-1-0.ring"),
        copy_(folder_ / "copy/0-1-0.ring") {
    fs::create_directories(folder_ / "copy");
  }
  ~RingCopyTest() override { fs::remove_all(folder_); }

  // A process that records into a ring, of which there is a copy.
  pid_t start_owner(bool is_finished = false) const {
    int made[2];
    EXPECT_EQ(pipe(made), 0);
    const pid_t child = fork();
    if (child == 0) {
      const CreatedRing created = create_ring(path_, 1 << 20);
      Header& header = created.ring.header();
      header.owner_pid = static_cast<std::uint32_t>(getpid());
      header.owner_start_time = start_time_of(header.owner_pid);
      add_anchor(header, event::take_anchor());
      header.ready.store(1);
      if (is_finished) header.finished.store(1);
      close(made[1]);
      for (;;) pause();
    }
    close(made[1]);
    char byte = 0;
    EXPECT_EQ(read(made[0], &byte, 1), 0);
    close(made[0]);
    fs::copy_file(path_, copy_, fs::copy_options::overwrite_existing);
    return child;
  }
  static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const fs::path folder_;
  const std::string path_, copy_;
};

TEST_F(RingCopyTest, KnowsTheCopyOfALivingRing) {
  const pid_t owner = start_owner();
  EXPECT_TRUE(is_copy_of_living(copy_));
  EXPECT_FALSE(is_copy_of_living(path_)) << "the ring itself";
  end(owner);
  EXPECT_FALSE(is_copy_of_living(copy_)) << "its process is dead";
}

TEST_F(RingCopyTest, OneThatWritesNoMoreIsAsGoodAsItsCopy) {
  const pid_t owner = start_owner(true);
  EXPECT_FALSE(is_copy_of_living(copy_));
  end(owner);
}

TEST_F(RingCopyTest, AnotherRingOfItsNameIsNoCopy) {
  const pid_t owner = start_owner();
  OpenedRing opened = open_ring(copy_);
  ASSERT_TRUE(opened.ring.valid());
  const auto begin = reinterpret_cast<const char*>(&opened.ring.header());
  const auto at = reinterpret_cast<const char*>(anchors_in(opened.ring.header()).data()) - begin;
  close_ring(opened);
  const int fd = open(copy_.c_str(), O_RDWR);
  const std::uint64_t ticks = 1;
  EXPECT_EQ(pwrite(fd, &ticks, sizeof ticks, at), static_cast<ssize_t>(sizeof ticks));
  close(fd);
  EXPECT_FALSE(is_copy_of_living(copy_));
  EXPECT_FALSE(is_copy_of_living(folder_ / "none.ring"));
  end(owner);
}

}  // namespace
}  // namespace traceagent::ring
