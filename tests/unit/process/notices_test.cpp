#include "agent/process/notices.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace traceagent::process {
namespace {

class NoticesTest : public testing::Test {
 protected:
  NoticesTest() {
    EXPECT_EQ(pipe2(pipe_, O_NONBLOCK), 0);
    stderr_ = dup(STDERR_FILENO);
    dup2(pipe_[1], STDERR_FILENO);
  }
  ~NoticesTest() override {
    give_back();
    for (const int fd : {stderr_, pipe_[0], pipe_[1]}) close(fd);
    set_talk(Talk::normal);
  }
  void give_back() { dup2(stderr_, STDERR_FILENO); }
  std::string said() {
    char text[8192];
    const ssize_t got = read(pipe_[0], text, sizeof text);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }

  int pipe_[2];
  int stderr_;
};

TEST_F(NoticesTest, AreOneLineEach) {
  say_problem("what: which: do this");
  EXPECT_EQ(said(), "traceagent: what: which: do this\n");
}

TEST_F(NoticesTest, LetNoControlCharacterThrough) {
  say_result(std::string("a\033[31mred\nb\rc\0d\x7f", 16) + "ü");
  EXPECT_EQ(said(), "traceagent: a?[31mred?b?c?d?ü\n");
}

TEST_F(NoticesTest, AreCutWhereALineWouldNotEnd) {
  say_problem(std::string(100'000, 'x'));
  const std::string text = said();
  EXPECT_LE(text.size(), 2048u);
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(NoticesTest, SayMoreOrLess) {
  const struct {
    Talk talk;
    const char* expected;
  } cases[] = {{Talk::silent, ""},
               {Talk::quiet, "traceagent: p\n"},
               {Talk::normal, "traceagent: p\ntraceagent: r\n"},
               {Talk::verbose, "traceagent: p\ntraceagent: r\ntraceagent: d\n"}};
  for (const auto& each : cases) {
    set_talk(each.talk);
    say_problem("p");
    say_result("r");
    say_detail("d");
    EXPECT_EQ(said(), each.expected);
  }
}

TEST_F(NoticesTest, LeaveErrnoAloneEvenWithoutAStandardError) {
  close(STDERR_FILENO);
  errno = ENOENT;
  say_problem("nobody hears this");
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace traceagent::process
