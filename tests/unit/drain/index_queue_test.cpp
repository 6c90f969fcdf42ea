#include "agent/drain/index_queue.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

const std::string head = R"({"run_key": "a", "entries": [)";

// Another process that has the index locked, until end() or its destruction.
class OtherWriter {
 public:
  explicit OtherWriter(const std::string& path) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      struct flock whole {};
      whole.l_type = F_WRLCK;
      whole.l_whence = SEEK_SET;
      const int fd = open(path.c_str(), O_RDWR);
      const bool is_locked = fcntl(fd, F_SETLK, &whole) == 0;
      if (write(ready[1], is_locked ? "y" : "n", 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char answer = 'n';
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(ready[0]);
  }
  ~OtherWriter() { end(); }
  OtherWriter(const OtherWriter&) = delete;
  OtherWriter& operator=(const OtherWriter&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class IndexQueueTest : public testing::Test {
 protected:
  std::string add(int number) {
    return queue_.add({path_, head, "{\"n\": " + std::to_string(number) + "}", false});
  }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  static std::string document(int lines) {
    std::string text = head;
    for (int i = 0; i < lines; ++i) {
      text += (i == 0 ? "\n{\"n\": " : ",\n{\"n\": ") + std::to_string(i) + "}";
    }
    return text + "\n]}\n";
  }

  trace::ScratchFolder folder_;
  const std::string path_ = folder_ / "index.json";
  IndexQueue queue_;
};

TEST_F(IndexQueueTest, LinesThatFindItLockedGoWithTheNext) {
  EXPECT_EQ(add(0), "");
  {
    const OtherWriter other(path_);
    EXPECT_EQ(add(1), "");
    EXPECT_EQ(add(2), "");
    EXPECT_EQ(text(), document(1));
  }
  EXPECT_EQ(add(3), "");
  EXPECT_EQ(text(), document(4));
}

TEST_F(IndexQueueTest, OrAtTheEnd) {
  EXPECT_EQ(add(0), "");
  OtherWriter other(path_);
  EXPECT_EQ(add(1), "");
  other.end();
  EXPECT_EQ(queue_.finish(), "");
  EXPECT_EQ(text(), document(2));
  EXPECT_EQ(queue_.finish(), "");
  EXPECT_EQ(text(), document(2));
}

TEST_F(IndexQueueTest, WhatIsStillKeptOutIsTold) {
  EXPECT_EQ(add(0), "");
  OtherWriter other(path_);
  EXPECT_EQ(add(1), "");
  EXPECT_NE(queue_.finish().find(path_), std::string::npos);
  other.end();
  EXPECT_EQ(add(1), "");
  EXPECT_EQ(text(), document(2)) << "nothing was left in the queue";
}

TEST_F(IndexQueueTest, RefusalsAreTold) {
  EXPECT_NE(queue_.add({folder_ / "none/index.json", head, "{}", false}), "");
  EXPECT_EQ(add(0), "");
  EXPECT_EQ(text(), document(1));
}

}  // namespace
}  // namespace traceagent::drain
