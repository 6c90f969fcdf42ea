#pragma once

#include <functional>
#include <string>

namespace traceagent::tools {

struct Contained {
  std::string output;     // what it wrote to standard output and standard error, at most 64 KiB
  std::string failure;    // "crashed by signal 11", "no end within 10 s", "exit code 3"; or empty
  bool was_tried = true;  // false: for want of a process
};

// Runs `body` in a child process, so that other people's libraries may crash or hang there.
Contained run_contained(const std::function<void()>& body, int timeout_s = 10);

}  // namespace traceagent::tools
