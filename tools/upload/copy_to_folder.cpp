#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }
  int release_and_close() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return close(fd);
  }

 private:
  int fd_;
};

// All that the file has: it may be removed when its copy is there.
bool copy_bytes(int from, int to) {
  struct stat facts {};
  if (fstat(from, &facts) != 0) return false;
  std::vector<char> buffer(std::size_t{1} << 20);
  off_t copied = 0;
  for (;;) {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      errno = EIO;  // where it ends too early
      return copied == facts.st_size;
    }
    copied += got;
    for (ssize_t done = 0; done < got;) {
      const ssize_t written = write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      done += written;
    }
  }
}

// Where there are no locks another uploader may be at work, and have put its own half in the place.
bool is_named(const struct stat& file, const std::string& path) {
  struct stat named {};
  if (lstat(path.c_str(), &named) != 0) return false;
  errno = EBUSY;
  return named.st_ino == file.st_ino && named.st_dev == file.st_dev;
}

// Under a name that nobody takes for a trace, until all of it is on the disk.
bool copy_under_another_name(int from, const std::string& temporary) {
  unlink(temporary.c_str());  // of an uploader that was killed: we have its lock
  Descriptor to(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  struct stat facts {};
  return to.get() >= 0 && copy_bytes(from, to.get()) && fsync(to.get()) == 0 &&
         fstat(to.get(), &facts) == 0 && to.release_and_close() == 0 && is_named(facts, temporary);
}

}  // namespace

Delivery copy_to_folder(const Upload& upload, const std::string& path) {
  const fs::path target(upload.target);
  const std::string temporary =
      (target.parent_path() / ("." + target.filename().string() + ".part-" + upload.id)).string();
  const Descriptor from(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  bool ok = from.get() >= 0 && !error;
  if (ok) ok = copy_under_another_name(from.get(), temporary);
  if (ok) ok = rename(temporary.c_str(), target.c_str()) == 0;
  if (!ok) {
    const std::string why = error ? error.message() : std::strerror(errno);
    if (errno != EBUSY) unlink(temporary.c_str());  // else it is another's
    return {Delivery::Outcome::later, why};
  }
  // The name too must outlive a machine that stops: the file here may be removed next.
  const Descriptor folder(open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
  return {};
}

}  // namespace traceagent::tools
