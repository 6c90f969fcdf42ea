#include "agent/process/command_at_load.hpp"

#include <array>
#include <cstring>

namespace traceagent::process {
namespace {

constinit std::array<char, 4096> kept{};
constinit std::size_t kept_bytes = 0;

}  // namespace

// At the start of every process, of /bin/true too: no memory is asked for, nothing of /proc is
// read.
void keep_command(int count, const char* const* arguments) noexcept {
  for (int i = 0; i < count && arguments[i] != nullptr; ++i) {
    const std::size_t bytes = std::strlen(arguments[i]) + 1;
    if (bytes > kept.size() - kept_bytes) return;
    std::memcpy(kept.data() + kept_bytes, arguments[i], bytes);
    kept_bytes += bytes;
  }
}

std::vector<std::string> command_at_load() {
  std::vector<std::string> command;
  for (std::size_t at = 0; at < kept_bytes; at += command.back().size() + 1) {
    command.emplace_back(kept.data() + at);
  }
  return command;
}

}  // namespace traceagent::process
