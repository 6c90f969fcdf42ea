#include "tools/upload/local_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace traceagent::tools {

std::string unfit(const std::string& path, const struct stat& facts) {
  if (S_ISLNK(facts.st_mode)) return "a symbolic link: give the file that it leads to";
  if (!S_ISREG(facts.st_mode)) return "not a file: give files, or a folder of them";
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0 && errno == EACCES) {
    return unreadable;
  }
  return {};
}

std::int64_t modified_ns(const struct stat& facts) {
  return facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
}

bool was_just_replaced(const std::string& path, std::int64_t known_ns) {
  constexpr std::int64_t longest_ns = 10'000'000'000;  // a file server's clock may be another
  struct stat facts {};
  if (known_ns == 0 || lstat(path.c_str(), &facts) != 0) return false;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t now_ns = now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  const std::int64_t written_ns = modified_ns(facts);
  return written_ns != known_ns && std::abs(now_ns - written_ns) < longest_ns;
}

bool is_still(const std::string& path, std::int64_t known_ns) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return true;
  return known_ns == 0 || modified_ns(facts) == known_ns;
}

bool was_written_to(const std::string& path, const struct stat& before) {
  struct stat now {};
  if (lstat(path.c_str(), &now) != 0) return false;
  const bool is_same = now.st_ino == before.st_ino && now.st_dev == before.st_dev;
  return is_same && (now.st_size != before.st_size || modified_ns(now) != modified_ns(before));
}

}  // namespace traceagent::tools
