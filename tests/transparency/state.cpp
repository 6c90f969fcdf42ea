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
#include <iterator>
#include <sstream>
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

// Signals 32 and 33 are libc's: it handles them as soon as there are threads, whoever made them.
std::string without_own_of_libc(const std::string& mask) {
  constexpr unsigned long long own = 3ULL << 31;
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", std::stoull(mask, nullptr, 16) & ~own);
  return text;
}

// One that was joined is in the list until the kernel has cleared it away.
bool is_ending(const std::string& thread) {
  constexpr unsigned long exiting = 4;  // PF_EXITING, in the flags of stat(5)
  std::ifstream file("/proc/self/task/" + thread + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return true;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 6; ++i) fields >> skipped;
  unsigned long flags = 0;
  fields >> flags;
  return (flags & exiting) != 0;
}

void add_threads(Lines& lines) {
  for (const std::string& thread : entries_of("/proc/self/task")) {
    if (is_ending(thread)) continue;
    std::ifstream file("/proc/self/task/" + thread + "/status");
    std::string name, blocked;
    for (std::string line; std::getline(file, line);) {
      if (line.substr(0, 6) == "Name:\t") name = line.substr(6);
      if (line.substr(0, 8) == "SigBlk:\t") blocked = without_own_of_libc(line.substr(8));
    }
    if (!name.empty()) lines.push_back("thread " + name + " blocks " + blocked);
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

void add_of_status(Lines& lines) {
  std::ifstream file("/proc/thread-self/status");
  for (std::string line; std::getline(file, line);) {
    const std::string_view view(line);
    for (const char* key :
         {"Name:", "Umask:", "Uid:", "Gid:", "Groups:", "CapPrm:", "CapEff:", "SigBlk:", "SigIgn:",
          "SigCgt:", "SigPnd:", "ShdPnd:", "NoNewPrivs:", "Seccomp:"}) {
      if (view.substr(0, std::strlen(key)) != key) continue;
      const bool is_mask = view.substr(0, 3) == "Sig";
      lines.push_back(is_mask ? line.substr(0, 8) + without_own_of_libc(line.substr(8)) : line);
    }
  }
}

void add_limits(Lines& lines) {
  for (int which = 0; which < RLIM_NLIMITS; ++which) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(which), &limit);
    lines.push_back("limit " + std::to_string(which) + " " + std::to_string(limit.rlim_cur) + " " +
                    std::to_string(limit.rlim_max));
  }
}

// What any child is started with.
void add_environment(Lines& lines) {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    lines.push_back(std::string("environment ") + *variable);
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

// Of threads and descriptors what two looks have in common: a thread is without its name and mask
// for a moment, and a file that is read is open for one.
Lines what_stays() {
  Lines looks[2];
  for (Lines& look : looks) {
    if (&look != looks) usleep(5'000);
    add_threads(look);
    add_descriptors(look);
    std::sort(look.begin(), look.end());
  }
  Lines lines;
  std::set_intersection(looks[0].begin(), looks[0].end(), looks[1].begin(), looks[1].end(),
                        std::back_inserter(lines));
  return lines;
}

}  // namespace

void say_state(const char* when) {
  const int saved_errno = errno;
  Lines lines = what_stays();
  add_of_status(lines);
  add_limits(lines);
  add_environment(lines);
  add_of_thread(lines);
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) say("state %s: %s\n", when, line.c_str());
  errno = saved_errno;
}

}  // namespace traceagent::transparency
