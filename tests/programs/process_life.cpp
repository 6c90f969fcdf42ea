// One odd end or beginning of a process for each word. Calls are counted by the test, so each case
// makes a number of its own: CALLS of the process, CHILD_CALLS of each child.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>

extern char** environ;

namespace {

constexpr int calls = 7;
constexpr int child_calls = 3;

void call_often(int count) {
  int device = 0;
  for (int i = 0; i < count; ++i) {
    cudaMemsetAsync(&device, 0, sizeof device, nullptr);  // fails, and is a call
  }
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Body>
int in_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::exit(5);
  }
  return wait_for(child);
}

int fork_silent() {
  std::printf("child %d\n", in_child([] {}));
  call_often(1);
  return 0;
}

int fork_calls() {
  std::printf("child %d\n", in_child([] { call_often(child_calls); }));
  call_often(1);
  return 0;
}

// Other threads record all the while; none of the children may hang.
int fork_busy() {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop.load()) {
      call_often(100);
      usleep(500);
    }
  });
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    good += in_child([] {
              call_often(child_calls);
              _exit(5);
            }) == 5
                ? 1
                : 0;
  }
  stop.store(true);
  busy.join();
  std::printf("good children %d\n", good);
  return 0;
}

[[gnu::noinline]] void vfork_one(const char* program) {
  const pid_t child = vfork();
  if (child == 0) {
    execl(program, "true", nullptr);
    _exit(9);  // in the parent's memory
  }
  std::printf("vfork %d\n", wait_for(child));
}

int vfork_exec() {
  vfork_one("/bin/true");
  vfork_one("/no/such/program");
  pid_t child = 0;
  char name[] = "true";
  char* words[] = {name, nullptr};
  const int result = posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environ);
  std::printf("spawn %d %d\n", result, wait_for(child));
  call_often(1);
  return 0;
}

int exec_itself() {
  std::fflush(nullptr);
  execl("/proc/self/exe", "process_life", "return", nullptr);
  return 99;
}

int exec_other() {
  std::fflush(nullptr);
  execl("/bin/echo", "echo", "other", nullptr);
  return 99;
}

int exit_in_thread() {
  std::thread([] { std::exit(6); }).detach();
  for (;;) {
    call_often(1);
    usleep(1000);
  }
}

int throws() { throw std::runtime_error("not caught"); }

int daemon_closes_all() {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) {
    return 0;
  }
  setsid();
  for (int fd = 0; fd < 1024; ++fd) {
    close(fd);
  }
  call_often(child_calls);
  usleep(300'000);
  call_often(child_calls);
  std::_Exit(0);
}

// What programs do that want none of their parent's descriptors; the numbers are then theirs. A
// child must find its own under them.
int closes_all() {
  for (int fd = 3; fd < 1024; ++fd) {
    close(fd);
  }
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) {
    return 99;
  }
  for (int fd = 500; fd < 510; ++fd) {
    dup2(ends[0], fd);
  }
  const char byte = 42;
  if (write(ends[1], &byte, 1) != 1) {
    return 99;
  }
  const int child = in_child([] {
    char got = 0;
    std::exit(read(500, &got, 1) == 1 ? got : 77);
  });
  std::printf("child %d\n", child);
  return 0;
}

int on_signal() {
  std::signal(SIGUSR1, [](int) { _exit(8); });
  std::raise(SIGUSR1);
  return 99;
}

// The process lives as long as its threads, and ends with the code 0.
int main_leaves() {
  std::thread([] { usleep(200'000); }).detach();
  pthread_exit(nullptr);
}

std::atomic<int> ended_children{0};

// What the agent starts beside the job is none of its children.
int no_children() {
  errno = 0;
  const pid_t child = waitpid(-1, nullptr, 0);
  std::printf("waitpid %d %d, SIGCHLD %d\n", static_cast<int>(child), errno, ended_children.load());
  return 0;
}

void report_and_leave(int signal) {
  const char text[] = "handled\n";
  _exit(write(STDOUT_FILENO, text, sizeof text - 1) > 0 ? 20 + signal : 1);
}

int later_handler() {
  std::signal(SIGTERM, report_and_leave);
  return std::raise(SIGTERM);
}

int child_default() {
  const int child = in_child([] {
    struct sigaction now {};
    sigaction(SIGTERM, nullptr, &now);
    std::printf("default %d\n", now.sa_handler == SIG_DFL);
    std::fflush(nullptr);
    std::raise(SIGTERM);
  });
  std::printf("child %d\n", child);
  return 0;
}

int allocates() {
  for (;;) {
    void* volatile some = std::malloc(100'000);
    std::free(some);
  }
}

// Before the first call of the CUDA runtime, and so before the agent is there.
void prepare(std::string_view word) {
  if (word == "own_handler") {
    std::signal(SIGTERM, report_and_leave);
  } else if (word == "ignored") {
    std::signal(SIGTERM, SIG_IGN);
  } else if (word == "no_children") {
    std::signal(SIGCHLD, [](int) { ++ended_children; });
  }
}

struct Case {
  std::string_view word;
  int (*run)();
};
constexpr Case cases[] = {
    {"return", [] { return 3; }},
    {"exit", []() -> int { std::exit(3); }},
    {"quick_exit", []() -> int { std::quick_exit(3); }},
    {"_exit", []() -> int { _exit(3); }},
    {"_Exit", []() -> int { std::_Exit(3); }},
    {"exit_in_thread", exit_in_thread},
    {"exit_in_handler", on_signal},
    {"main_leaves", main_leaves},
    {"throw", throws},
    {"abort", []() -> int { std::abort(); }},
    {"sigterm", []() -> int { return std::raise(SIGTERM); }},
    {"sigint", []() -> int { return std::raise(SIGINT); }},
    {"sighup", []() -> int { return std::raise(SIGHUP); }},
    {"own_handler", []() -> int { return std::raise(SIGTERM); }},
    {"later_handler", later_handler},
    {"ignored", []() -> int { return 10 + std::raise(SIGTERM); }},
    {"child_default", child_default},
    {"no_children", no_children},
    {"allocates", allocates},
    {"sigkill", []() -> int { return std::raise(SIGKILL); }},
    {"fork_silent", fork_silent},
    {"fork_calls", fork_calls},
    {"fork_busy", fork_busy},
    {"vfork_exec", vfork_exec},
    {"exec_itself", exec_itself},
    {"exec_other", exec_other},
    {"daemon", daemon_closes_all},
    {"closes_all", closes_all},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "nothing") {
    return 4;
  }
  for (const Case& known : cases) {
    if (known.word == word) {
      prepare(word);
      cudaDeviceSynchronize();
      call_often(calls - 1);
      std::printf("%s\n", argv[1]);
      std::fflush(nullptr);
      return known.run();
    }
  }
  std::fprintf(stderr, "process_life: unknown case\n");
  return 2;
}
