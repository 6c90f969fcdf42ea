#include "agent/ring/owner.hpp"

#include <dirent.h>
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
  bool is_ending = false;  // killed, or beyond its last instruction
};

// Its fields of /proc/PID/stat are numbered as in proc(5).
bool is_ending(const char* text, int field) noexcept {
  constexpr std::uint64_t exiting_flag = 0x4, sigkill_pending = std::uint64_t{1} << 8;
  const std::uint64_t value = std::strtoull(text, nullptr, 10);
  return (field == 9 && (value & exiting_flag) != 0) ||
         (field == 31 && (value & sigkill_pending) != 0);
}

// The second field, the name, may hold spaces and parentheses: what follows its last one counts.
Stat read_stat(const char* path) noexcept {
  char text[1024];
  const int fd = event::open_high(path, O_RDONLY);
  if (fd < 0) return {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  text[got > 0 ? got : 0] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  Stat stat;
  stat.state = at[2];
  for (int field = 3; field <= 31; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at == nullptr) return stat;
    if (field == 22) stat.start_time = std::strtoull(at, nullptr, 10);
    stat.is_ending |= is_ending(at, field);
  }
  return stat;
}

Stat read_stat(std::uint32_t pid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/stat", pid);
  return read_stat(path);
}

bool is_dead(const Stat& stat) noexcept {
  return stat.state == 0 || stat.state == 'Z' || stat.state == 'X';
}

// Of a process whose main thread has left by pthread_exit, and looks as the dead do; 0: none lives.
std::uint32_t other_living_thread(std::uint32_t pid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/task", pid);
  const event::Folder threads = event::open_folder_high(path);
  if (threads == nullptr) return 0;
  while (const dirent* entry = readdir(threads.get())) {
    const auto thread = static_cast<std::uint32_t>(std::strtoul(entry->d_name, nullptr, 10));
    if (thread == 0 || thread == pid) continue;
    std::snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, thread);
    // Of a killed process the main thread may be gone before the others have come to it.
    const Stat stat = read_stat(path);
    if (!is_dead(stat) && !stat.is_ending) return thread;
  }
  return 0;
}

// The thread that shows what the process maps: without its main thread another one.
std::uint32_t living_thread(std::uint32_t pid) noexcept {
  return is_dead(read_stat(pid)) ? other_living_thread(pid) : pid;
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
  if (stat.start_time != start_time) return false;
  return !is_dead(stat) || other_living_thread(pid) != 0;
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

namespace {

template <class IsWanted>
bool is_any_line_of_maps(std::uint32_t pid, const IsWanted& is_wanted) noexcept {
  char line[PATH_MAX + 128];
  std::snprintf(line, sizeof line, "/proc/%u/task/%u/maps", pid, living_thread(pid));
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
    is_mapped = is_wanted(std::string_view(line, std::strcspn(line, "\n")));
  }
  std::fclose(maps);
  return is_mapped;
}

}  // namespace

bool process_maps(std::uint32_t pid, const char* path) noexcept {
  struct stat facts {};
  const ino_t inode = stat(path, &facts) == 0 ? facts.st_ino : 0;
  return is_any_line_of_maps(
      pid, [&](std::string_view line) noexcept { return is_line_of(line, path, inode); });
}

std::string mapped_namesake(std::uint32_t pid, const std::string& path) {
  const std::string_view name =
      std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
  char found[PATH_MAX + 128] = {};
  is_any_line_of_maps(pid, [&](std::string_view line) noexcept {
    const bool is_it = ends_in(line, name) && line[line.size() - name.size() - 1] == '/';
    if (is_it) std::memcpy(found, line.data(), std::min(line.size(), sizeof found - 1));
    return is_it;
  });
  const char* const whole = std::strchr(found, '/');
  return whole != nullptr ? whole : "";
}

}  // namespace traceagent::ring
