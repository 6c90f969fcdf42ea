#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/upload/delivery.hpp"

extern char** environ;

namespace traceagent::tools {

namespace {

constexpr std::string_view place_of_file = "{}";

std::vector<std::string> with_file(std::vector<std::string> words, const std::string& path) {
  bool is_named = false;
  for (std::string& word : words) {
    for (std::size_t at = word.find(place_of_file); at != std::string::npos;
         at = word.find(place_of_file, at + path.size())) {
      word.replace(at, place_of_file.size(), path);
      is_named = true;
    }
  }
  if (!is_named) words.push_back(path);
  return words;
}

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

// Signals as they were before the uploader ignored them.
int spawn(std::vector<std::string> words, pid_t& pid) {
  std::vector<std::string> variables = users_environment();
  const std::vector<char*> arguments = as_argv(words);
  const std::vector<char*> environment = as_argv(variables);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) sigaddset(&usual, signal);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&pid, arguments.front(), nullptr, &attributes, arguments.data(),
                                 environment.data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Delivery run_command(const Upload& upload, const std::string& path) {
  const std::vector<std::string> words = with_file(upload.words, path);
  pid_t pid = 0;
  if (const int error = spawn(words, pid); error != 0) {
    return {Delivery::Outcome::refused,
            words.front() + ": " + std::strerror(error) + ": name a command that is in PATH"};
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return {Delivery::Outcome::later, WIFEXITED(status)
                                        ? "exit code " + std::to_string(WEXITSTATUS(status))
                                        : "signal " + std::to_string(WTERMSIG(status))};
}

}  // namespace traceagent::tools
