// say_state: what a library could change in its process.
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/transparency/work.hpp"

namespace traceagent::transparency {
namespace {

using Lines = std::vector<std::string>;

Lines entries_of(const char* folder) {
  Lines names;
  DIR* entries = opendir(folder);
  if (entries == nullptr) return {};
  const std::string own = std::to_string(dirfd(entries));
  while (const dirent* entry = readdir(entries)) {
    if (entry->d_name[0] != '.' && entry->d_name != own) names.emplace_back(entry->d_name);
  }
  closedir(entries);
  return names;
}

void add_threads(Lines& lines) {
  for (const std::string& thread : entries_of("/proc/self/task")) {
    std::ifstream file("/proc/self/task/" + thread + "/comm");
    std::string name;
    std::getline(file, name);
    lines.push_back("thread " + name);
  }
}

void add_descriptors(Lines& lines) {
  for (const std::string& number : entries_of("/proc/self/fd")) {
    char target[4096] = {};
    const std::string path = "/proc/self/fd/" + number;
    if (readlink(path.c_str(), target, sizeof target - 1) < 0) continue;
    // Numbers of pipes and sockets differ from run to run.
    if (char* bracket = std::strchr(target, '['); bracket != nullptr) *bracket = '\0';
    lines.push_back("descriptor " + number + " " + target);
  }
}

// Signals 32 and 33 are libc's: it handles them as soon as there are threads, whoever made them.
std::string without_own_of_libc(const std::string& line) {
  const std::size_t mask = line.find('\t') + 1;
  if (line.substr(0, 3) != "Sig" || mask == 0) return line;
  constexpr unsigned long long own = 3ULL << 31;
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", std::stoull(line.substr(mask), nullptr, 16) & ~own);
  return line.substr(0, mask) + text;
}

void add_of_status(Lines& lines) {
  std::ifstream file("/proc/thread-self/status");
  for (std::string line; std::getline(file, line);) {
    const std::string_view view(line);
    for (const char* key : {"Name:", "Umask:", "Uid:", "Gid:", "SigBlk:", "SigIgn:", "SigCgt:",
                            "SigPnd:", "ShdPnd:", "NoNewPrivs:", "Seccomp:"}) {
      if (view.substr(0, std::strlen(key)) == key) lines.push_back(without_own_of_libc(line));
    }
  }
}

void add_limits(Lines& lines) {
  for (const int which : {RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_STACK, RLIMIT_CORE}) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(which), &limit);
    lines.push_back("limit " + std::to_string(which) + " " + std::to_string(limit.rlim_cur) + " " +
                    std::to_string(limit.rlim_max));
  }
}

void add_of_thread(Lines& lines) {
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  lines.push_back("alternate stack " + std::to_string(stack.ss_size) + " flags " +
                  std::to_string(stack.ss_flags));
  lines.push_back("processors " + std::to_string(CPU_COUNT(&cpus)));
  // Less the sticky flags, which any sum sets.
  lines.push_back("floats " + std::to_string(std::fegetround()) + " " +
                  std::to_string(_mm_getcsr() & ~0x3fU));
  lines.push_back("policy " + std::to_string(sched_getscheduler(0)) + " nice " +
                  std::to_string(getpriority(PRIO_PROCESS, 0)));
  char* folder = getcwd(nullptr, 0);
  lines.push_back(std::string("working folder ") + (folder != nullptr ? folder : "gone"));
  std::free(folder);
}

}  // namespace

void say_state(const char* when) {
  const int saved_errno = errno;
  Lines lines;
  add_threads(lines);
  add_descriptors(lines);
  add_of_status(lines);
  add_limits(lines);
  add_of_thread(lines);
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) say("state %s: %s\n", when, line.c_str());
  errno = saved_errno;
}

}  // namespace traceagent::transparency
