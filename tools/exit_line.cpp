#include "tools/exit_line.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace traceagent::tools {

int tell_exit(int code) noexcept {
  if (std::getenv("TRACEAGENT_TELLS_EXIT") == nullptr) return code;
  char line[32];
  const int size = std::snprintf(line, sizeof line, "\nexit %d\n", code);
  const ssize_t written = write(STDOUT_FILENO, line, static_cast<std::size_t>(size));
  static_cast<void>(written);  // without it the agent takes the tool as killed
  return code;
}

}  // namespace traceagent::tools
