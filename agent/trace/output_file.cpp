#include "agent/trace/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "agent/event/high_descriptor.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/gzip_members.hpp"
#include "agent/trace/side_work.hpp"

namespace traceagent::trace {

namespace {

constexpr unsigned rename_noreplace = 1;  // RENAME_NOREPLACE, absent from old headers
constexpr int max_temporary_names = 16;

std::string temporary_name(const std::string& path, pid_t writer, int attempt) {
  const std::size_t slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  std::string name = path.substr(0, start) + "." + path.substr(start) + ".tmp-";
  name += std::to_string(writer);
  if (attempt > 0) {
    name += "-" + std::to_string(attempt);
  }
  return name;
}

bool exists(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// A device, a pipe, a folder: the rename would put a file in its place, for all programs.
bool is_no_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

}  // namespace

OutputFile::OutputFile() = default;

OutputFile::~OutputFile() { abandon(); }

bool OutputFile::open(const std::string& path, const OutputOptions& options) {
  path_ = path;
  options_ = options;
  const bool is_only_name = options.overwrite || !options.next_name;
  if (is_only_name && is_no_file(path)) {
    fail("cannot write a trace: " + path + ": it is there and no file: choose another name");
    return false;
  }
  if (!options.overwrite && is_only_name && exists(path)) {
    remember("refused to replace a trace", EEXIST);
    return false;
  }
  // By our operator new, which counts.
  const auto new_buffer = [] {
    return static_cast<char*>(::operator new(buffer_bytes, std::nothrow));
  };
  const bool has_side = options.side_work != nullptr;
  buffer_.reset(new_buffer());
  other_.reset(has_side ? new_buffer() : nullptr);
  if (options.gzip) {
    gzip_.reset(new (std::nothrow) GzipMembers(options.gzip_level));
  }
  const bool has_memory = buffer_ && (!has_side || other_);
  if (!has_memory || (options.gzip && (!gzip_ || !gzip_->ready()))) {
    remember("cannot write a trace", ENOMEM);
    return false;
  }
  owner_ = getpid();
  return open_temporary();
}

bool OutputFile::open_temporary() {
  // The temporary name may be taken by a process of the same pid in another container that shares
  // the folder: never removed, another name is taken.
  for (int attempt = 0; attempt < max_temporary_names; ++attempt) {
    temporary_ = temporary_name(path_, owner_, attempt);
    descriptor_ =
        event::open_high(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (descriptor_ >= 0) {
      return true;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  const int error_number = errno;
  temporary_.clear();
  remember("cannot create a trace", error_number);
  return false;
}

// Asked for only where it differs: some file systems refuse every change.
bool OutputFile::keep_mode(mode_t mode) {
  struct stat facts {};
  const bool is_kept = fstat(descriptor_, &facts) == 0 &&
                       ((facts.st_mode & 07777) == mode || fchmod(descriptor_, mode) == 0);
  if (!is_kept) {
    remember("cannot create a trace", errno);
    abandon();
  }
  return is_kept;
}

void OutputFile::append(std::string_view text) {
  if (!buffer_) {
    return;
  }
  while (!text.empty()) {
    const std::size_t size = std::min(text.size(), max_reserve_bytes);
    std::memcpy(reserve(size), text.data(), size);
    commit(size);
    text.remove_prefix(size);
  }
}

// Whole lines go out, the rest moves to the front: what a kill leaves behind then ends with a whole
// line, and every gzip member begins with one. A line too long for that is cut.
void OutputFile::write_lines() {
  std::size_t size = used_;
  const void* newline = memrchr(buffer_.get(), '\n', used_);
  if (newline != nullptr) {
    const auto cut =
        static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.get()) + 1;
    if (used_ - cut <= max_reserve_bytes) {
      size = cut;
    }
  }
  if (other_) {
    write_beside(size);
    return;
  }
  write_text(buffer_.get(), size);
  std::memmove(buffer_.get(), buffer_.get() + size, used_ - size);
  used_ -= size;
}

void OutputFile::write_beside(std::size_t size) {
  options_.side_work->wait();  // until the other buffer is free
  std::memcpy(other_.get(), buffer_.get() + size, used_ - size);
  std::swap(buffer_, other_);
  used_ -= size;
  options_.side_work->begin([this, size] { write_text(other_.get(), size); });
}

void OutputFile::write_text(const char* text, std::size_t size) {
  if (failed() || descriptor_ < 0 || size == 0) {
    return;
  }
  if (!gzip_) {
    write_raw(text, size);
    return;
  }
  const bool ok = gzip_->compress(
      {text, size}, [this](const char* bytes, std::size_t n) { return write_raw(bytes, n); });
  if (!ok) {
    remember("cannot compress a trace", ENOMEM);
  }
}

bool OutputFile::write_raw(const char* bytes, std::size_t size) {
  if (size > options_.most_bytes - std::min(file_bytes_, options_.most_bytes)) {
    if (!failed()) {
      is_too_large_ = true;
      fail("trace: " + path_ + ": larger than it may be: raise budget.disk");
    }
    return false;
  }
  FileSizeLimitGuard guard;
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, bytes, size);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      remember("cannot write a trace", errno);
      guard.limit_reached();
      return false;
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
    file_bytes_ += static_cast<std::uint64_t>(written);
  }
  return true;
}

bool OutputFile::finish() {
  if (descriptor_ < 0) {
    return false;
  }
  if (other_) {
    options_.side_work->wait();
  }
  write_text(buffer_.get(), used_);
  used_ = 0;
  // NFS reports a full disk or a spent quota only here. EINTR: Linux has closed it all the same.
  if (::close(descriptor_) != 0 && errno != EINTR) {
    remember("cannot write a trace", errno);
  }
  descriptor_ = -1;
  if (failed() || !publish()) {
    abandon();
    return false;
  }
  temporary_.clear();
  return true;
}

void OutputFile::abandon() {
  if (other_) {
    options_.side_work->wait();
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
  if (!temporary_.empty() && owner_ == getpid()) {
    ::unlink(temporary_.c_str());
  }
  temporary_.clear();
  used_ = 0;
}

bool OutputFile::publish() {
  if (!options_.overwrite) {
    return publish_without_replacing();
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    remember("cannot name a trace", errno);
    return false;
  }
  return true;
}

bool OutputFile::publish_without_replacing() {
  for (;;) {
    const int error_number = publish_where_free(path_.c_str());
    if (error_number == 0) {
      return true;
    }
    const bool is_taken = error_number == EEXIST;
    std::string next = is_taken && options_.next_name ? options_.next_name() : std::string();
    if (next.empty()) {
      remember(is_taken ? "refused to replace a trace" : "cannot name a trace", error_number);
      return false;
    }
    path_ = std::move(next);
  }
}

// renameat2 is the atomic way but NFS refuses it; a hard link serves there; file systems without
// hard links get an empty file that holds the name, which the rename then replaces. Returns 0 or
// the number of what went wrong.
int OutputFile::publish_where_free(const char* to) {
  const char* from = temporary_.c_str();
  if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, rename_noreplace) == 0) {
    return 0;
  }
  if (errno != EEXIST && ::link(from, to) == 0) {
    ::unlink(from);
    return 0;
  }
  if (errno == EEXIST) {
    return EEXIST;
  }
  const int placeholder = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (placeholder < 0) {
    return errno;
  }
  ::close(placeholder);
  if (::rename(from, to) == 0) {
    return 0;
  }
  const int error_number = errno;
  ::unlink(to);  // nothing under the name is better than an empty trace
  return error_number;
}

void OutputFile::remember(const char* what, int error_number) {
  if (!failed()) {
    fail(file_problem(what, path_, error_number));
  }
}

void OutputFile::fail(std::string error) {
  error_ = std::move(error);
  failed_.store(true, std::memory_order_release);
}

void remove_abandoned(const std::string& path, pid_t dead_writer) noexcept try {
  if (path.empty()) {
    return;
  }
  // Only the first name: the others are there where the folder is shared with other hosts, whose
  // processes have the same numbers.
  ::unlink(temporary_name(path, dead_writer, 0).c_str());
} catch (...) {
  // Out of memory: it stays.
}

}  // namespace traceagent::trace
