#include "tools/upload/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

extern char** environ;

namespace traceagent::tools {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int longest_pause_ms = 50;
constexpr std::size_t most_said = 64 * 1024;
constexpr std::size_t read_bytes = 4096;

// The agent takes the job's folders of libraries from its tools: the user's command gets them back.
std::vector<std::string> users_environment() {
  constexpr std::string_view taken = "TRACEAGENT_JOBS_";
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    variables.emplace_back(variable.starts_with(taken) ? variable.substr(taken.size()) : variable);
  }
  return variables;
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

class Child {
 public:
  // Its group ends as a whole; but at a terminal it stays in ours, so that it may read from it, and
  // Ctrl-C is for both.
  Child() : has_own_group_(isatty(STDIN_FILENO) == 0) {}
  ~Child() { close_output(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int start(std::vector<std::string> words, bool wants_output);
  // Reads what it says meanwhile. True too where somebody else has taken its end, which is told as
  // an error: nobody knows how it ended, and its number may be another's.
  bool ends_within(std::chrono::nanoseconds limit, ChildEnd& end);
  // It may tidy up what it has done by halves; then it has no choice.
  void kill_it(ChildEnd& end);

 private:
  void listen(int pause_ms, std::string& said);
  void hear_the_rest(std::string& said);
  void close_output() {
    if (output_ >= 0) close(output_);
    output_ = -1;
  }

  const bool has_own_group_;
  pid_t pid_ = 0;
  int output_ = -1;
};

int Child::start(std::vector<std::string> words, bool wants_output) {
  int ends[2] = {-1, -1};
  if (wants_output && pipe2(ends, O_CLOEXEC) != 0) return errno;
  output_ = ends[0];
  std::vector<std::string> variables = users_environment();
  const std::vector<char*> arguments = as_argv(words);
  const std::vector<char*> environment = as_argv(variables);
  posix_spawn_file_actions_t actions{};
  int error = posix_spawn_file_actions_init(&actions);
  if (error == 0 && wants_output) {
    error = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  }
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t usual;  // as they were before the uploader ignored them
  sigemptyset(&usual);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  const int group = has_own_group_ ? POSIX_SPAWN_SETPGROUP : 0;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | group));
  if (error == 0) {
    error = posix_spawnp(&pid_, arguments.front(), &actions, &attributes, arguments.data(),
                         environment.data());
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) close(ends[1]);
  return error;
}

void Child::listen(int pause_ms, std::string& said) {
  pollfd waited{output_, POLLIN, 0};
  if (poll(&waited, 1, pause_ms) <= 0 || waited.fd < 0) return;
  char buffer[read_bytes];
  const ssize_t got = read(output_, buffer, sizeof buffer);
  if (got <= 0) return close_output();
  const std::size_t room = most_said - std::min(most_said, said.size());
  said.append(buffer, std::min(room, static_cast<std::size_t>(got)));
}

// What it has said is in the pipe. Nobody waits for the pipe's end: a process that it has started
// and left behind may hold that for ever.
void Child::hear_the_rest(std::string& said) {
  for (std::size_t i = 0; i < most_said / read_bytes && output_ >= 0; ++i) listen(0, said);
}

bool Child::ends_within(std::chrono::nanoseconds limit, ChildEnd& end) {
  const auto until = Clock::now() + limit;
  for (int pause_ms = 1;; pause_ms = std::min(2 * pause_ms, longest_pause_ms)) {
    const pid_t ended = waitpid(pid_, &end.status, WNOHANG);
    if (ended < 0 && errno != EINTR) end.error_number = errno;
    if (ended == pid_ || end.error_number != 0) {
      hear_the_rest(end.said);
      return true;
    }
    if (Clock::now() >= until) return false;
    listen(pause_ms, end.said);
  }
}

void Child::kill_it(ChildEnd& end) {
  const pid_t whom = has_own_group_ ? -pid_ : pid_;
  close_output();
  kill(whom, SIGTERM);
  const bool has_ended = ends_within(std::chrono::seconds(2), end);
  if (end.error_number != 0) return;
  if (has_own_group_ || !has_ended) kill(whom, SIGKILL);  // of its group some may be left
  if (!has_ended) ends_within(std::chrono::hours(1), end);
}

}  // namespace

std::string ChildEnd::problem() const {
  if (error_number != 0) return std::strerror(error_number);
  if (!in_time) return "it took too long, and was ended";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code == 0 ? "" : "exit code " + std::to_string(code);
}

ChildEnd run_child(std::vector<std::string> words, std::chrono::nanoseconds limit,
                   bool wants_output) {
  ChildEnd end;
  Child child;
  end.error_number = child.start(std::move(words), wants_output);
  if (end.error_number != 0) return end;
  end.in_time = child.ends_within(limit, end);
  if (!end.in_time) child.kill_it(end);
  return end;
}

}  // namespace traceagent::tools
