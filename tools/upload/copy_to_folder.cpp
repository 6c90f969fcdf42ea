#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "agent/trace/upload_journal.hpp"
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

// Whole characters of it: some file systems take no others.
std::string first_of(std::string name, std::size_t most_bytes) {
  if (name.size() <= most_bytes) return name;
  while (most_bytes > 0 && (static_cast<unsigned char>(name[most_bytes]) & 0xc0) == 0x80) {
    --most_bytes;
  }
  name.resize(most_bytes);
  return name;
}

// That nobody takes for a trace. Another uploader may be writing the same file now where there are
// no locks: then each has a name of its own, and one that is killed leaves its half there. The id
// tells it from others; of a long name the end has no room.
std::string temporary_name(const Upload& upload, const fs::path& target, bool is_alone) {
  constexpr std::size_t longest_name = 255;
  const std::string end = ".part-" + upload.id + (is_alone ? "" : "-" + trace::new_upload_id());
  const std::size_t room = longest_name - std::min(longest_name, 1 + end.size());
  return (target.parent_path() / ("." + first_of(target.filename().string(), room) + end)).string();
}

// Until all of it is on the disk.
bool copy_under_another_name(int from, const std::string& temporary) {
  unlink(temporary.c_str());  // of an uploader that was killed: we have its lock
  Descriptor to(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  return to.get() >= 0 && copy_bytes(from, to.get()) && fsync(to.get()) == 0 &&
         to.release_and_close() == 0;
}

// By a link or a mount: it would be its own copy, and removed here.
bool is_the_file_itself(const fs::path& target, const fs::path& path) {
  std::error_code error;
  return target.filename() == path.filename() &&
         fs::equivalent(target.parent_path(), path.parent_path(), error);
}

}  // namespace

Delivery copy_to_folder(const Upload& upload, const std::string& path, bool is_alone) {
  const fs::path target(upload.target);
  const std::string temporary = temporary_name(upload, target, is_alone);
  const Descriptor from(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (is_the_file_itself(target, path)) {
    return {Delivery::Outcome::refused, "that is the file itself: name another folder"};
  }
  bool ok = from.get() >= 0 && !error;
  if (ok) ok = copy_under_another_name(from.get(), temporary);
  if (ok) ok = rename(temporary.c_str(), target.c_str()) == 0;
  if (!ok) {
    const std::string why = error ? error.message() : std::strerror(errno);
    unlink(temporary.c_str());
    return {Delivery::Outcome::later, why};
  }
  // The name too must outlive a machine that stops: the file here may be removed next.
  const Descriptor folder(open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) fsync(folder.get());
  return {};
}

void remove_half_copy(const Upload& upload) {
  if (upload.target.empty() || upload.target.starts_with("s3://")) return;
  unlink(temporary_name(upload, upload.target, true).c_str());
}

}  // namespace traceagent::tools
