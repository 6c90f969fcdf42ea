#include "agent/process/keeper.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/ring_identity.hpp"
#include "config/name_template.hpp"

extern char** environ;

namespace traceagent::process {
namespace {

constexpr const char* keeper_topic = "keeper";

// Beside the library, as it is built and installed: lib/ or lib/<machine>/ next to bin/.
std::string find_tool() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&start_keeper), &self) == 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> library(realpath(self.dli_fname, nullptr),
                                                            &std::free);
  if (library == nullptr) return {};
  std::string folder = library.get();
  for (int up = 0; up < 2; ++up) {
    folder.resize(std::min(folder.rfind('/'), folder.size()));
    std::string tool = folder.substr(0, folder.rfind('/')) + "/bin/traceagent";
    if (access(tool.c_str(), X_OK) == 0) return tool;
  }
  return {};
}

// What we put into the environment, or what steers us, is not for a process of our own.
bool is_for_tool(std::string_view variable) noexcept {
  for (const char* ours : {"LD_PRELOAD=", "TRACEAGENT_", "NVTX_INJECTION64_PATH=",
                           "CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN="}) {
    if (variable.starts_with(ours)) return false;
  }
  return true;
}

std::vector<char*> tools_environment() {
  std::vector<char*> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    if (is_for_tool(*at)) variables.push_back(*at);
  }
  variables.push_back(nullptr);
  return variables;
}

struct Start {
  const char* tool;
  char* const* arguments;
  char* const* environment;
  char* stack_top;       // of the second process
  int error_number = 0;  // why there is none; both processes share our memory
};

// In the memory of the job, while its thread waits: only system calls.
int become_keeper(void* shared) {
  auto& start = *static_cast<Start*>(shared);
  setsid();
  // A scheduler sends these to all it finds, seconds before it kills. Ignored after execve too.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &ignore, nullptr);
  // A launcher waits for the end of its ranks' output: none of it may stay open here.
  const int nothing = open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (dup2(nothing, fd) < 0) close(fd);
  }
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
  if (clone(become_keeper, start.stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, shared) < 0) {
    start.error_number = errno;
  }
  _exit(0);
}

// Two processes, each as vfork makes them: the first has no signal at its end, so that the job's
// handlers and waits never see it (execve would give it one), and the keeper is its orphan.
// Returns what went wrong, or "".
std::string run_tool(Start start) {
  constexpr std::size_t stack_bytes = 32 * 1024;
  const std::unique_ptr<char[]> stacks(new char[2 * stack_bytes]);
  start.stack_top = stacks.get() + 2 * stack_bytes;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t first =
      clone(start_second, stacks.get() + stack_bytes, CLONE_VM | CLONE_VFORK, &start);
  if (first < 0) start.error_number = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (first > 0 && waitpid(first, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  return start.error_number == 0 ? "" : std::strerror(start.error_number);
}

std::string log_path(const Agent& agent) {
  const auto folder =
      config::format_name(agent.options.output_folder, name_variables(agent.identity));
  if (!folder.problem.empty()) return {};
  return folder.name + "/keeper-node" + std::to_string(agent.identity.node_rank) + ".log";
}

}  // namespace

void start_keeper(const Agent& agent) {
  if (!agent.options.keeper || agent.run_folder.path.empty() || agent.ring.path.empty()) return;
  if (!be_first(agent.run_folder, keeper_topic)) return;
  const std::string tool = find_tool();
  if (tool.empty()) return say_problem("keeper: bin/traceagent is not beside the library: none");
  std::vector<std::string> words{tool, "recover", "--wait"};
  if (const std::string log = log_path(agent); !log.empty()) {
    words.insert(words.end(), {"--log", log});
  }
  words.push_back(agent.run_folder.path);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::vector<char*> environment = tools_environment();
  const std::string problem =
      run_tool({tool.c_str(), arguments.data(), environment.data(), nullptr});
  if (!problem.empty())
    say_problem("keeper: " + tool + ": " + problem + ": none runs on this node");
}

}  // namespace traceagent::process
