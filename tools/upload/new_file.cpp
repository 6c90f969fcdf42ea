#include "tools/upload/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tools/upload/open_file.hpp"

namespace traceagent::tools {

namespace {

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

NewFile::NewFile(const std::string& path, const std::string& text) : path_(path + ".new") {
  unlink(path_.c_str());  // of an uploader that was killed
  const OpenFile file(path_, O_WRONLY | O_CREAT | O_EXCL);
  is_on_disk_ = file.fd() >= 0 && write_all(file.fd(), text) && fsync(file.fd()) == 0;
}

NewFile::~NewFile() { unlink(path_.c_str()); }

namespace {

void write_over(const std::string& path, const std::string& text) {
  const OpenFile file(path, O_WRONLY | O_NONBLOCK);
  if (file.fd() < 0 || ftruncate(file.fd(), 0) != 0) return;
  static_cast<void>(write_all(file.fd(), text));  // as much of it as there is room for
}

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
  const NewFile file(path, text);
  if (file.is_on_disk() && rename(file.path().c_str(), path.c_str()) == 0) return;
  write_over(path, text);
}

}  // namespace traceagent::tools
