// A rank whose /proc/PID/environ does not show that it is one, with a worker that it forks and one
// that it starts anew.
//
//   titled_rank plain|title|setenv RANK     RANK of two; exits with 3
//
// "setenv": its variables are set by itself, as notebook launchers do it. "title": it writes one
// over its arguments and its environment, as Python's setproctitle does; so does its forked worker,
// another.
#include <cuda_runtime_api.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

extern "C" char** environ;

namespace {

void call(int times) {
  int memory = 0;
  for (int i = 0; i < times; ++i) cudaMemsetAsync(&memory, 0, sizeof memory, nullptr);
  cudaDeviceSynchronize();
}

// The arguments' and the environment's memory, which lie behind each other.
char* titles_begin = nullptr;
char* titles_end = nullptr;

void move_environment(char** arguments) {
  titles_begin = arguments[0];
  titles_end = arguments[0] + std::strlen(arguments[0]);
  const auto take = [](const char* text) {
    if (text == titles_end + 1)
      titles_end += 1 + std::strlen(text);  // what was set since lies elsewhere
  };
  for (char** each = arguments + 1; *each != nullptr; ++each) take(*each);
  std::vector<char*> moved;
  for (char** each = environ; *each != nullptr; ++each) {
    take(*each);
    moved.push_back(strdup(*each));
  }
  moved.push_back(nullptr);
  static std::vector<char*> kept;
  kept = std::move(moved);
  environ = kept.data();
}

void set_title(const std::string& title) {
  if (titles_begin == nullptr) return;
  std::memset(titles_begin, 0, static_cast<std::size_t>(titles_end - titles_begin));
  std::memcpy(titles_begin, title.data(), title.size());
}

void set_variables(const char* rank) {
  for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, rank, 1);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, "2", 1);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

int fork_worker() {
  const pid_t child = fork();
  if (child == 0) {
    set_title("worker");
    call(20);
    std::exit(5);
  }
  return wait_for(child);
}

int start_worker(const char* program) {
  const char* const words[] = {program, "worker", nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program, nullptr, nullptr, const_cast<char* const*>(words), environ) != 0)
    return 101;
  return wait_for(child);
}

}  // namespace

int main(int, char** arguments) {
  const std::string mode = arguments[1];
  if (mode == "worker") {
    call(20);
    return 5;
  }
  const std::string program = arguments[0], rank = arguments[2];
  if (mode == "setenv") set_variables(rank.c_str());
  if (mode == "title") move_environment(arguments);
  set_title("rank " + rank);
  call(50);
  const bool is_fine = fork_worker() == 5 && start_worker(program.c_str()) == 5;
  call(50);
  return is_fine ? 3 : 4;
}
