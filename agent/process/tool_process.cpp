#include "agent/process/tool_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/uninterrupted.hpp"

extern char** environ;

namespace traceagent::process {
namespace {

// What we put into the environment, or what steers us, is not for a process of our own. Nor are the
// job's folders of libraries: it might find others than it was built with.
constexpr std::string_view job_libraries = "LD_LIBRARY_PATH=";
bool is_for_tool(std::string_view variable) noexcept {
  for (const char* ours : {"LD_PRELOAD=", "TRACEAGENT_", "NVTX_INJECTION64_PATH=",
                           "CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN="}) {
    if (variable.starts_with(ours)) return false;
  }
  return !variable.starts_with(job_libraries);
}

// Stays when the process ends: the drain thread may start a tool until then.
constinit std::vector<std::string>* environment_kept = nullptr;

std::vector<std::string> tools_environment(bool tells_exit) {
  std::vector<std::string> variables;
  if (environment_kept != nullptr) variables = *environment_kept;
  if (tells_exit) variables.emplace_back("TRACEAGENT_TELLS_EXIT=1");
  return variables;
}

std::vector<char*> as_argv(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Start {
  const char* tool = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int output = -1;            // its standard output and error; -1: nowhere
  char* stack_top = nullptr;  // of the second process
  pid_t pid = 0;
  int error_number = 0;  // why there is none; both processes share our memory
};

void open_standard_numbers(int output) noexcept {
  const int nothing = open("/dev/null", O_RDWR);
  if (dup2(nothing, STDIN_FILENO) < 0) close(STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(output < 0 ? nothing : output, fd) < 0) close(fd);
  }
}

// In the memory of the job, while its thread waits: only system calls.
int become_tool(void* shared) {
  auto& start = *static_cast<Start*>(shared);
  setsid();
  // A scheduler sends these to all it finds, seconds before it kills. Ignored after execve too.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &ignore, nullptr);
  // This one ends it; a job may ignore it.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGALRM, &usual, nullptr);
  // A launcher waits for the end of its ranks' output: none of it may stay open here.
  open_standard_numbers(start.output);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
#endif
    for (int fd = 3; fd < 65'536; ++fd) close(fd);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(start.tool, start.arguments, start.environment);
  start.error_number = errno;
  _exit(127);
}

int start_second(void* shared) {
  auto& start = *static_cast<Start*>(shared);
  start.pid = clone(become_tool, start.stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, shared);
  if (start.pid < 0) start.error_number = errno;
  _exit(0);
}

// Two processes, each as vfork makes them: the first has no signal at its end, so that the job's
// handlers and waits never see it (execve would give it one), and the tool is its orphan.
void start_orphan(Start& start) {
  constexpr std::size_t stack_bytes = 32 * 1024;
  const std::unique_ptr<char[]> stacks(new char[2 * stack_bytes]);
  start.stack_top = stacks.get() + 2 * stack_bytes;
  sigset_t all, before;
  sigfillset(&all);
  const bool is_blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  const pid_t first =
      clone(start_second, stacks.get() + stack_bytes, CLONE_VM | CLONE_VFORK, &start);
  if (first < 0) start.error_number = errno;
  if (is_blocked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (first > 0 && waitpid(first, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
}

// After unshare(CLONE_NEWPID) the job's next child is the first process of that namespace, and at
// its end no other can be made there: ours must not take that place.
bool children_live_apart() noexcept {
  constexpr const char* childrens_link = "/proc/thread-self/ns/pid_for_children";
  char own[64], childrens[64];
  struct stat link {};
  const ssize_t own_size = readlink("/proc/thread-self/ns/pid", own, sizeof own);
  if (own_size <= 0 || lstat(childrens_link, &link) != 0) return false;  // before Linux 4.12
  // It leads nowhere until the namespace has its first process.
  const ssize_t size = readlink(childrens_link, childrens, sizeof childrens);
  if (size <= 0) return errno == ENOENT;
  return std::string_view(own, static_cast<std::size_t>(own_size)) !=
         std::string_view(childrens, static_cast<std::size_t>(size));
}

// Returns the tool's pid; 0, with `problem` set, where there is none.
pid_t start_with(std::vector<std::string>& words, int output, std::string& problem) {
  if (children_live_apart()) {
    problem = "the job's children are in another pid namespace";
    return 0;
  }
  std::vector<std::string> variables = tools_environment(output >= 0);
  const std::vector<char*> arguments = as_argv(words);
  const std::vector<char*> environment = as_argv(variables);
  Start start;
  start.tool = words.front().c_str();
  start.arguments = arguments.data();
  start.environment = environment.data();
  start.output = output;
  start_orphan(start);
  if (start.error_number == 0) return start.pid;
  problem = event::error_text(start.error_number);
  return 0;
}

constexpr std::size_t most_said = 64 * 1024;

// The tool's last line: tools/exit_line.hpp. Empty until it has been said to its end.
std::string_view exit_line(std::string_view said) noexcept {
  constexpr std::string_view mark = "\nexit ";
  const std::size_t at = said.ends_with('\n') ? said.rfind(mark) : std::string_view::npos;
  const bool is_last = at != std::string_view::npos && said.find('\n', at + 1) == said.size() - 1;
  return is_last ? said.substr(at + mark.size()) : std::string_view();
}

// True at the end of what is said, which is the end of who says it. Not the end of the pipe alone:
// a child that another thread of the job forks meanwhile holds its other end, maybe for ever.
bool listen(int pipe, std::uint64_t until_ns, std::string& said) {
  constexpr std::uint64_t ms = 1'000'000;
  for (;;) {
    const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= until_ns) return false;
    pollfd waited{pipe, POLLIN, 0};
    const auto left_ms = static_cast<int>(std::min<std::uint64_t>((until_ns - now_ns) / ms, 1000));
    const int ready = poll(&waited, 1, left_ms + 1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    char buffer[4096];
    const ssize_t got = event::uninterrupted([&] { return read(pipe, buffer, sizeof buffer); });
    if (got <= 0) return true;
    const std::size_t room = most_said - std::min(most_said, said.size());
    // The last bytes tell the exit code: kept, whatever came before.
    if (room < static_cast<std::size_t>(got)) said.resize(most_said / 2);
    said.append(buffer, static_cast<std::size_t>(got));
    if (!exit_line(said).empty()) return true;
  }
}

// It has a moment to remove what it has written by halves (tools/ending_signals.hpp).
void end_tool(pid_t pid, int pipe) {
  constexpr std::uint64_t moment_ns = 2'000'000'000;
  std::string unheard;
  kill(-pid, SIGALRM);
  if (!listen(pipe, event::clock_ns(CLOCK_MONOTONIC) + moment_ns, unheard)) kill(-pid, SIGKILL);
}

void take_exit_line(ToolEnd& end) {
  const std::string_view line = exit_line(end.said);
  if (line.empty()) return;
  std::from_chars(line.data(), line.data() + line.size(), end.exit_code);
  end.said.resize(end.said.rfind("\nexit "));
}

}  // namespace

// A tool that runs the user's own command gives it back what was taken (tools/upload).
void keep_environment() {
  std::vector<std::string> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (is_for_tool(variable)) variables.emplace_back(variable);
    if (variable.starts_with(job_libraries)) {
      variables.push_back("TRACEAGENT_JOBS_" + std::string(variable));
    }
  }
  // A forked child has its parent's.
  if (environment_kept == nullptr) environment_kept = new std::vector<std::string>();
  environment_kept->swap(variables);
}

std::string start_tool(std::vector<std::string> words) {
  std::string problem;
  start_with(words, -1, problem);
  return problem;
}

ToolEnd run_tool(std::vector<std::string> words, std::uint64_t timeout_ns) {
  ToolEnd end;
  const std::uint64_t until_ns = event::clock_ns(CLOCK_MONOTONIC) + timeout_ns;
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    end.problem = event::error_text(errno);
    return end;
  }
  for (int& each : ends) each = event::off_low_numbers(each);
  const bool has_pipe = ends[0] >= 0 && ends[1] >= 0;
  if (!has_pipe) end.problem = event::error_text(EMFILE);
  const pid_t pid = has_pipe ? start_with(words, ends[1], end.problem) : -1;
  if (ends[1] >= 0) close(ends[1]);
  if (pid > 0) end.ended = listen(ends[0], until_ns, end.said);
  // It lives: it holds the pipe.
  if (pid > 0 && !end.ended) end_tool(pid, ends[0]);
  if (ends[0] >= 0) close(ends[0]);
  take_exit_line(end);
  return end;
}

}  // namespace traceagent::process
