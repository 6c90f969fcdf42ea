#include "tools/contained.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace traceagent::tools {

namespace {

constexpr std::size_t max_output_bytes = std::size_t{64} << 10;

[[noreturn]] void be_child(int write_end, const std::function<void()>& body) {
  dup2(write_end, STDOUT_FILENO);
  dup2(write_end, STDERR_FILENO);
  close(write_end);
  body();
  std::fflush(nullptr);
  _exit(0);
}

// Until the child has closed its end; false when the time is over.
bool read_all(int read_end, int timeout_s, std::string& output) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(timeout_s);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waiting{read_end, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
      return false;
    }
    char piece[4096];
    const ssize_t size = read(read_end, piece, sizeof piece);
    if (size <= 0) {
      return true;
    }
    if (output.size() < max_output_bytes) {
      output.append(piece, static_cast<std::size_t>(size));
    }
  }
}

std::string in_words(int status) {
  if (WIFSIGNALED(status)) {
    return "crashed by signal " + std::to_string(WTERMSIG(status));
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "exit code " + std::to_string(code);
}

}  // namespace

Contained run_contained(const std::function<void()>& body, int timeout_s) {
  Contained result;
  int ends[2];
  std::fflush(nullptr);  // or the child writes our buffered lines once more
  if (pipe(ends) != 0) {
    result.failure = "no pipe";
    return result;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_child(ends[1], body);
  }
  close(ends[1]);
  const bool in_time = child > 0 && read_all(ends[0], timeout_s, result.output);
  close(ends[0]);
  if (child < 0) {
    result.failure = "no process";
    return result;
  }
  if (!in_time) {
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  result.failure = in_time ? in_words(status) : "no end within " + std::to_string(timeout_s) + " s";
  return result;
}

}  // namespace traceagent::tools
