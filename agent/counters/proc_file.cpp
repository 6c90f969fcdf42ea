#include "agent/counters/proc_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/event/uninterrupted.hpp"

namespace traceagent::counters {

ProcFile::~ProcFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ProcFile::open(const std::string& path) noexcept {
  descriptor_ =
      event::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); });
  return is_open();
}

std::optional<std::string_view> ProcFile::read(std::span<char> buffer) const noexcept {
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = event::uninterrupted([&] {
      return pread(descriptor_, buffer.data() + size, buffer.size() - size,
                   static_cast<off_t>(size));
    });
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  const std::string_view text(buffer.data(), size);
  return text.substr(0, text.rfind('\n') + 1);
}

bool leave_descriptors_of_process() noexcept {
  constexpr unsigned unshare_first = 1u << 1;  // CLOSE_RANGE_UNSHARE
#ifdef SYS_close_range
  return syscall(SYS_close_range, 0u, ~0u, unshare_first) == 0;
#else
  return syscall(436, 0u, ~0u, unshare_first) == 0;
#endif
}

}  // namespace traceagent::counters
