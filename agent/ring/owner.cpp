#include "agent/ring/owner.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "agent/event/fork_hold.hpp"
#include "agent/event/hash.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

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
  const int fd = event::open_high(text, O_RDONLY);
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

// The fifth of a line's fields: range, rights, offset, device, inode, path.
std::uint64_t inode_in(const char* line) noexcept {
  for (int field = 1; line != nullptr && field < 5; ++field) {
    line = std::strchr(line, ' ');
    if (line != nullptr) line += std::strspn(line, " ");
  }
  return line != nullptr ? std::strtoull(line, nullptr, 10) : 0;
}

bool ends_in(std::string_view line, std::string_view path) noexcept {
  return line.size() > path.size() && line.ends_with(path);
}

// /proc has the file's one true path, and ours may lead through links or have a slash too many. So
// the number and the name count; the device's does not, which btrfs and overlayfs show otherwise
// than stat does. Nor is the number always stat's there: then the path must do.
bool is_line_of(std::string_view line, std::string_view path, ino_t inode) noexcept {
  if (ends_in(line, path)) return true;
  const std::string_view name = path.substr(std::min(path.rfind('/'), path.size()));
  return inode != 0 && inode_in(line.data()) == inode && ends_in(line, name);
}

// 0 when it cannot be read. It stays what it is as long as any process lives.
std::uint64_t boot_number() noexcept {
  static std::atomic<std::uint64_t> known = 0;
  const std::uint64_t before = known.load(std::memory_order_relaxed);
  if (before != 0) return before;
  const int fd = event::open_high("/proc/sys/kernel/random/boot_id", O_RDONLY);
  if (fd < 0) return 0;
  constexpr std::size_t id_bytes = 36;
  char id[id_bytes];
  const ssize_t got = event::uninterrupted([&] { return read(fd, id, sizeof id); });
  close(fd);
  if (got != static_cast<ssize_t>(id_bytes)) return 0;
  const std::uint64_t number = event::hash_bytes(id, id_bytes);
  known.store(number, std::memory_order_relaxed);
  return number;
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

std::uint64_t namespace_of_host() noexcept {
  const std::uint64_t boot = boot_number();
  const std::uint64_t number = pid_namespace();
  return boot == 0 || number == 0 ? 0 : std::max<std::uint64_t>(event::combine(boot, number), 1);
}

bool process_maps(std::uint32_t pid, const char* path) noexcept {
  char line[PATH_MAX + 128];
  std::snprintf(line, sizeof line, "/proc/%u/maps", pid);
  struct stat facts {};
  const ino_t inode = stat(path, &facts) == 0 ? facts.st_ino : 0;
  const int fd = event::open_high(line, O_RDONLY);
  if (fd < 0) return false;
  const event::ForkHold hold;
  std::FILE* maps = fdopen(fd, "r");
  if (maps == nullptr) {
    close(fd);
    return false;
  }
  bool is_mapped = false;
  while (!is_mapped && std::fgets(line, sizeof line, maps) != nullptr) {
    is_mapped = is_line_of({line, std::strcspn(line, "\n")}, path, inode);
  }
  std::fclose(maps);
  return is_mapped;
}

}  // namespace traceagent::ring
