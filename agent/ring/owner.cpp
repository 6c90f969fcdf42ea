#include "agent/ring/owner.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/event/fork_hold.hpp"

namespace traceagent::ring {
namespace {

struct Stat {
  char state = 0;
  std::uint64_t start_time = 0;
};

// The second field, the name, may hold spaces and parentheses: what follows its last one counts.
Stat read_stat(std::uint32_t pid) noexcept {
  char text[1024];
  std::snprintf(text, sizeof text, "/proc/%u/stat", pid);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  text[got > 0 ? got : 0] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  Stat stat;
  stat.state = at[2];
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  if (at != nullptr) stat.start_time = std::strtoull(at, nullptr, 10);
  return stat;
}

}  // namespace

std::uint64_t start_time_of(std::uint32_t pid) noexcept { return read_stat(pid).start_time; }

bool process_lives(std::uint32_t pid, std::uint64_t start_time) noexcept {
  if (pid == 0 || start_time == 0) return false;
  const Stat stat = read_stat(pid);
  return stat.start_time == start_time && stat.state != 'Z' && stat.state != 'X';
}

std::uint64_t pid_namespace() noexcept {
  struct stat facts {};
  return stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

bool process_maps(std::uint32_t pid, const char* path) noexcept {
  char line[PATH_MAX + 128];
  std::snprintf(line, sizeof line, "/proc/%u/maps", pid);
  const event::ForkHold hold;
  std::FILE* maps = std::fopen(line, "re");
  if (maps == nullptr) return false;
  bool is_mapped = false;
  const std::size_t length = std::strlen(path);
  while (!is_mapped && std::fgets(line, sizeof line, maps) != nullptr) {
    const std::size_t size = std::strcspn(line, "\n");
    is_mapped = size > length && std::strncmp(line + size - length, path, length) == 0;
  }
  std::fclose(maps);
  return is_mapped;
}

}  // namespace traceagent::ring
