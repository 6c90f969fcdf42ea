#include <unistd.h>

#include <cstdlib>

#include "tools/agent_library.hpp"
#include "tools/check_report.hpp"
#include "tools/contained.hpp"
#include "tools/elf_needed.hpp"

namespace traceagent::tools {

namespace {

// Whatever else it needed would come into every traced program in front of the program's own.
bool may_be_needed(const std::string& name) {
  return name == "libc.so.6" || name.starts_with("ld-linux");
}

void check_needed(const std::string& path, CheckReport& report) {
  const auto needed = elf_needed(path);
  std::string others;
  for (const std::string& name : needed.value_or(std::vector<std::string>())) {
    others += may_be_needed(name) ? "" : (others.empty() ? "" : ", ") + name;
  }
  if (!needed) {
    report.no("is a shared object", path, "build it again");
  } else if (!others.empty()) {
    report.no("needs libc alone", "it needs " + others, "build it with the static libraries");
  } else {
    report.yes("needs libc alone", "");
  }
}

// The loader says "object cannot be preloaded" on standard error and goes on without it.
void check_preload(const std::string& path, CheckReport& report) {
  const Contained result = run_contained([&path] {
    setenv("LD_PRELOAD", path.c_str(), 1);
    execl("/bin/sh", "sh", "-c", "echo as without", static_cast<char*>(nullptr));
    _exit(1);
  });
  if (!result.failure.empty()) {
    report.no("can be preloaded", "a shell with it: " + result.failure,
              result.was_tried ? "report this as a bug" : "check again");
  } else if (result.output != "as without\n") {
    const std::string first = result.output.substr(0, result.output.find('\n'));
    report.no("can be preloaded", first, "build it for this machine");
  } else {
    report.yes("can be preloaded", "a shell with it runs as without");
  }
}

}  // namespace

void check_library(const AgentLibrary& library, CheckReport& report) {
  report.section("The library");
  if (!library.problem.empty()) {
    report.no("is here", library.problem, "");
    return;
  }
  report.yes("is here", library.path);
  check_needed(library.path, report);
  check_preload(library.path, report);
}

}  // namespace traceagent::tools
