#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace traceagent::tools {

// A descriptor that is closed with its object; no link is followed. fd() is -1, with errno set,
// where the file cannot be opened.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, mode_t mode = 0600)
      : fd_(open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace traceagent::tools
