#include "tools/followed_run.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>

namespace traceagent::tools {

FollowedRun::FollowedRun(const std::string& folder)
    : given_(folder), fd_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), held_(folder) {
  if (fd_ < 0) return;
  struct stat facts {};
  if (fstat(fd_, &facts) == 0) {
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    held_ = "/proc/self/fd/" + std::to_string(fd_);
  } else {
    close(fd_);
    fd_ = -1;
  }
}

FollowedRun::~FollowedRun() {
  if (fd_ >= 0) close(fd_);
}

std::string FollowedRun::name() const {
  if (fd_ < 0 || is_at(given_)) return given_;
  char path[PATH_MAX];
  const ssize_t size = readlink(held_.c_str(), path, sizeof path);
  const std::string moved_to(path, static_cast<std::size_t>(size > 0 ? size : 0));
  if (is_at(moved_to)) return moved_to;
  // Gone only where that is certain: else it is reached by what leads to it.
  struct stat facts {};
  return fstat(fd_, &facts) == 0 && facts.st_nlink == 0 ? "" : held_;
}

// A link is none: what was given may be the held() of another.
bool FollowedRun::is_at(const std::string& path) const {
  struct stat there {};
  return lstat(path.c_str(), &there) == 0 && there.st_dev == device_ && there.st_ino == inode_;
}

std::string FollowedRun::shown(std::string text) const {
  const std::string name = this->name();
  if (fd_ < 0 || name.empty()) return text;
  const std::string begin = held_ + "/";
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; at += name.size()) {
    text.replace(at, held_.size(), name);
  }
  return text;
}

}  // namespace traceagent::tools
