#include "agent/process/proc_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/event/high_descriptor.hpp"

namespace traceagent::process {

std::optional<std::string> read_proc_file(const std::string& path, std::size_t most_bytes) {
  const int file = event::open_high(path.c_str(), O_RDONLY);
  if (file < 0) return std::nullopt;
  std::string text;
  // Not on the stack: the first hooked call may be made by a thread with 16 KiB of it.
  std::string buffer(16384, '\0');
  while (text.size() < most_bytes) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

}  // namespace traceagent::process
