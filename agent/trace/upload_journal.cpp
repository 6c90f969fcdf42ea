#include "agent/trace/upload_journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/open_file_lock.hpp"

namespace traceagent::trace {
namespace {

std::string plain_name(const std::string& host) {
  std::string name;
  for (const char c : host.substr(0, 200)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                          (c == '.' && !name.empty());
    name += is_plain ? c : '_';
  }
  return name.empty() ? "_" : name;
}

std::string path_in(const std::string& output_folder, const std::string& host,
                    const char* extension) {
  return upload_folder(output_folder) + "/" + plain_name(host) + extension;
}

int open_to_write(const std::string& path, int flags) noexcept {
  return event::open_high(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
}

int open_in_folder(const std::string& path, int flags) {
  const int fd = open_to_write(path, flags);
  if (fd >= 0 || errno != ENOENT) return fd;
  const std::string folder = path.substr(0, path.rfind('/'));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  return open_to_write(path, flags);
}

// Without `byte` the whole file.
bool set_lock(int fd, short type, std::optional<std::uint32_t> byte) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte.value_or(0);
  lock.l_len = byte ? 1 : 0;
  return event::uninterrupted([&] { return fcntl(fd, F_SETLK, &lock); }) == 0;
}

// True where there are no locks too: then nobody puts a shorter journal in its place.
bool hold_shared(int fd) noexcept {
  constexpr int most_attempts = 2000;
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < most_attempts; ++i) {
    if (lock_open_file(fd, F_RDLCK) || (errno != EAGAIN && errno != EACCES)) return true;
    nanosleep(&pause, nullptr);
  }
  return false;
}

// Another file has been put in its place, or it was removed.
bool is_replaced(int fd, const std::string& path) noexcept {
  struct stat opened {
  }, named{};
  if (fstat(fd, &opened) != 0) return false;
  if (stat(path.c_str(), &named) != 0) return errno == ENOENT;
  return opened.st_ino != named.st_ino || opened.st_dev != named.st_dev;
}

// Returns a descriptor with the lock, or -1 with errno.
int open_to_append(const std::string& journal) {
  constexpr int most_attempts = 100;
  for (int i = 0; i < most_attempts; ++i) {
    // To read too: without it there is no shared lock.
    const int fd = open_in_folder(journal, O_RDWR | O_APPEND);
    if (fd < 0) return -1;
    const bool is_held = hold_shared(fd);
    if (is_held && !is_replaced(fd, journal)) return fd;
    close(fd);
    if (!is_held) break;
  }
  errno = EBUSY;
  return -1;
}

}  // namespace

std::string upload_folder(const std::string& output_folder) {
  return output_folder + "/.traceagent-upload";
}

std::string journal_path(const std::string& output_folder, const std::string& host) {
  return path_in(output_folder, host, ".journal");
}

std::string uploader_lock_path(const std::string& output_folder, const std::string& host) {
  return path_in(output_folder, host, ".lock");
}

std::string upload_problem_path(const std::string& output_folder, const std::string& host) {
  return path_in(output_folder, host, ".problem");
}

std::string keep_lock_path(const std::string& output_folder) {
  return upload_folder(output_folder) + "/keep.lock";
}

std::string append_record(const std::string& journal, const JsonObject& record) {
  return append_record(journal, std::string_view(record.text()));
}

std::string append_record(const std::string& journal, std::string_view record) {
  const int fd = open_to_append(journal);
  if (fd < 0) return journal + ": " + event::error_text(errno);
  // The first newline ends a record that its writer was killed over, or the disk was full for. One
  // write: other ranks append too.
  const std::string line = "\n" + std::string(record) + "\n";
  FileSizeLimitGuard guard;
  const ssize_t written = event::uninterrupted([&] { return write(fd, line.data(), line.size()); });
  const int error_number = written < 0 ? errno : ENOSPC;
  guard.limit_reached();
  unlock_and_close(fd);
  if (written == static_cast<ssize_t>(line.size())) return {};
  return journal + ": " + event::error_text(error_number);
}

bool lock_journal_alone(int fd, const std::string& journal) noexcept {
  return lock_open_file(fd, F_WRLCK) && !is_replaced(fd, journal);
}

std::string new_upload_id() {
  static std::atomic<std::uint64_t> next{0};
  const auto number = next.fetch_add(1, std::memory_order_relaxed);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec) + "-" +
         std::to_string(getpid()) + "-" + std::to_string(number);
}

bool FileLock::try_lock(Kind kind) noexcept try {
  unlock();
  fd_ = open_in_folder(path_, O_RDWR);
  is_refused_ = fd_ < 0;
  if (fd_ < 0) return false;
  if (set_lock(fd_, kind == Kind::shared ? F_RDLCK : F_WRLCK, byte_)) return true;
  is_refused_ = errno != EAGAIN && errno != EACCES;
  unlock();
  return false;
} catch (...) {
  is_refused_ = true;
  return false;
}

bool FileLock::lock_soon(Kind kind) noexcept {
  constexpr int most_attempts = 400;
  const timespec pause{0, 5'000'000};
  for (int i = 0; i < most_attempts; ++i) {
    if (try_lock(kind)) return true;
    if (is_refused_) return false;
    nanosleep(&pause, nullptr);
  }
  return false;
}

bool FileLock::try_upgrade() noexcept { return fd_ >= 0 && set_lock(fd_, F_WRLCK, byte_); }

bool FileLock::is_lost() const noexcept { return fd_ >= 0 && is_replaced(fd_, path_); }

void FileLock::unlock() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

FileLock merge_lock(const std::string& output_folder) {
  return FileLock(keep_lock_path(output_folder));
}

FileLock removal_lock(const std::string& output_folder, std::optional<std::int64_t> process) {
  constexpr std::uint32_t uploaders = 0;
  constexpr std::int64_t bits = 0x3fff'ffff;  // where off_t has 32 of them
  const std::uint32_t byte = process ? 1 + static_cast<std::uint32_t>(*process & bits) : uploaders;
  return FileLock(keep_lock_path(output_folder), byte);
}

namespace {

// Of who holds it; F_UNLCK: nobody does. Nothing: there are no locks.
std::optional<struct flock> lock_on(const std::string& path) noexcept {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  const int fd = event::open_high(path.c_str(), O_RDWR | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? std::optional(lock) : std::nullopt;
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_known = fcntl(fd, F_GETLK, &lock) == 0;
  close(fd);
  return is_known ? std::optional(lock) : std::nullopt;
}

}  // namespace

Holder holder_of(const std::string& path) noexcept {
  const auto lock = lock_on(path);
  if (!lock) return Holder::unknown;
  return lock->l_type == F_UNLCK ? Holder::nobody : Holder::another;
}

std::int64_t holder_pid(const std::string& path) noexcept {
  const auto lock = lock_on(path);
  return lock && lock->l_type != F_UNLCK && lock->l_pid > 0 ? lock->l_pid : 0;
}

}  // namespace traceagent::trace
