#include "agent/process/notices.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

namespace traceagent::process {
namespace {

class NoticesTest : public testing::Test {
 protected:
  NoticesTest() {
    EXPECT_EQ(pipe2(pipe_, O_NONBLOCK), 0);
    stderr_ = dup(STDERR_FILENO);
    dup2(pipe_[1], STDERR_FILENO);
    look_at_error_output();
  }
  ~NoticesTest() override {
    give_back();
    for (const int fd : {stderr_, pipe_[0], pipe_[1]}) close(fd);
    set_talk(Talk::normal);
  }
  void give_back() {
    dup2(stderr_, STDERR_FILENO);
    look_at_error_output();
  }
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
  say_result(
      "a\xc2\x9b"
      "31m\xc2\x80\xc2\xa0"
      "b\xc2");
  EXPECT_EQ(said(),
            "traceagent: a?31m?\xc2\xa0"
            "b\xc2\n");
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

// Whatever the job opens may get the number: an event loop, its pipe to itself.
TEST_F(NoticesTest, GoIntoNoPipeOfTheJobs) {
  const pid_t child = fork();  // what was there at the load is said for good
  if (child == 0) {
    look_at_error_output();
    int own[2];
    if (pipe2(own, O_NONBLOCK) != 0) _exit(1);
    dup2(own[0], STDOUT_FILENO);
    dup2(own[1], STDERR_FILENO);
    say_problem("nobody hears this");
    dup2(own[1], STDOUT_FILENO);  // a log of both outputs
    say_problem("this is heard");
    dup2(pipe_[1], STDERR_FILENO);
    say_problem("as when it was loaded");
    char text[256];
    const ssize_t got = read(own[0], text, sizeof text);
    _exit(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))) ==
                  "traceagent: this is heard\n"
              ? 0
              : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said(), "traceagent: as when it was loaded\n");
}

TEST_F(NoticesTest, LeaveErrnoAloneEvenWithoutAStandardError) {
  close(STDERR_FILENO);
  errno = ENOENT;
  say_problem("nobody hears this");
  EXPECT_EQ(errno, ENOENT);
}

// A job's own connection may have the number of a standard error that it has closed.
TEST_F(NoticesTest, DoNotGoIntoAConnection) {
  look_at_error_output();
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  dup2(ends[1], STDERR_FILENO);
  say_problem("to whom?");
  char text[100];
  EXPECT_EQ(read(ends[0], text, sizeof text), -1);
  // One that was there from the beginning has our lines, as the job's.
  look_at_error_output();
  say_problem("p");
  EXPECT_EQ(read(ends[0], text, sizeof text), 14);
  give_back();
  for (const int fd : ends) close(fd);
}

// In the background of a terminal that stops whoever writes to it. `terminal`: this session's.
int stopped_by(int terminal) {
  const pid_t job = fork();
  if (job == 0) {
    setpgid(0, 0);
    dup2(terminal, STDERR_FILENO);
    look_at_error_output();
    say_problem("p");
    _exit(0);
  }
  setpgid(job, job);
  int status = 0;
  waitpid(job, &status, WUNTRACED);
  if (!WIFSTOPPED(status)) return WEXITSTATUS(status);
  kill(job, SIGKILL);
  waitpid(job, nullptr, 0);
  return WSTOPSIG(status);
}

TEST(Notices, DoNotStopAJobInTheBackground) {
  const int user = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(grantpt(user) == 0 && unlockpt(user) == 0);
  const std::string name = ptsname(user);
  const pid_t session = fork();
  if (session == 0) {
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);  // becomes the session's
    termios settings{};
    tcgetattr(terminal, &settings);
    settings.c_lflag |= TOSTOP;
    tcsetattr(terminal, TCSANOW, &settings);
    tcsetpgrp(terminal, getpgrp());
    _exit(stopped_by(terminal));
  }
  int status = 0;
  waitpid(session, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  char text[100];
  EXPECT_EQ(read(user, text, sizeof text), 15);  // "traceagent: p\r\n"
  close(user);
}

}  // namespace
}  // namespace traceagent::process
