#include "tools/contained.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace traceagent::tools {

namespace {

constexpr std::size_t max_output_bytes = std::size_t{64} << 10;
constexpr int code_unheard = 126;  // what it would say would go to the terminal

[[noreturn]] void be_child(int write_end, const std::function<void()>& body) {
  if (dup2(write_end, STDOUT_FILENO) < 0 || dup2(write_end, STDERR_FILENO) < 0) {
    _exit(code_unheard);
  }
  close(write_end);
  body();
  std::fflush(nullptr);
  _exit(0);
}

// Until the child has closed its end; else why not.
std::string read_all(int read_end, int timeout_s, std::string& output) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(timeout_s);
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waiting{read_end, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready == 0) return "no end within " + std::to_string(timeout_s) + " s";
    char piece[4096];
    const ssize_t size = ready < 0 ? ready : read(read_end, piece, sizeof piece);
    if (size == 0) return "";
    if (size < 0 && errno != EINTR) return std::string("not heard: ") + std::strerror(errno);
    if (size > 0 && output.size() < max_output_bytes) {
      output.append(piece, static_cast<std::size_t>(size));
    }
  }
}

std::string end_of(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended < 0) return std::string("its end is not known: ") + std::strerror(errno);
  if (WIFSIGNALED(status)) {
    return "crashed by signal " + std::to_string(WTERMSIG(status));
  }
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "exit code " + std::to_string(code);
}

}  // namespace

Contained run_contained(const std::function<void()>& body, int timeout_s) {
  int ends[2];
  std::fflush(nullptr);  // or the child writes our buffered lines once more
  if (pipe(ends) != 0) return {"", std::string("no pipe: ") + std::strerror(errno), false};
  const pid_t child = fork();
  const int error_number = errno;
  if (child == 0) {
    close(ends[0]);
    be_child(ends[1], body);
  }
  close(ends[1]);
  Contained result;
  if (child < 0) {
    result = {"", std::string("no process: ") + std::strerror(error_number), false};
  } else {
    result.failure = read_all(ends[0], timeout_s, result.output);
    const bool has_ended = result.failure.empty();
    // One that cannot be killed is not waited for: it may hang for ever.
    const std::string end = has_ended || kill(child, SIGKILL) == 0 ? end_of(child) : "";
    if (has_ended) result.failure = end;
  }
  close(ends[0]);
  return result;
}

}  // namespace traceagent::tools
