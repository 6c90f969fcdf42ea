#include "agent/trace/index_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view document_end = "\n]}\n";
constexpr std::size_t longest_tail_bytes = 64 << 10;  // more than any line that is added

// A record lock, as the rings have: a forked child of the job does not hold it.
bool lock(int fd, bool may_wait) {
  const timespec pause{0, 5'000'000};
  const int most_looks = may_wait ? 100 : 1;
  for (int look = 0; look < most_looks; ++look) {
    if (look > 0) {
      nanosleep(&pause, nullptr);
    }
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (event::uninterrupted([&] { return fcntl(fd, F_SETLK, &whole); }) == 0) {
      return true;
    }
    if (errno != EAGAIN && errno != EACCES) {
      return false;
    }
  }
  errno = EAGAIN;
  return false;
}

bool read_at(int fd, off_t offset, std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = event::uninterrupted([&] {
      return pread(fd, text.data() + done, text.size() - done, offset + static_cast<off_t>(done));
    });
    if (got <= 0) {
      errno = got == 0 ? EIO : errno;
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_at(int fd, off_t offset, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put =
        event::uninterrupted([&] { return pwrite(fd, text.data(), text.size(), offset); });
    if (put <= 0) {
      errno = put == 0 ? ENOSPC : errno;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(put));
    offset += put;
  }
  return true;
}

// Of the object that the line begins with; 0 if there is no whole one. What follows it may be half
// of a line, over which a process was killed.
std::size_t object_bytes(std::string_view line) {
  while (!line.empty() && !is_whole_object(line)) {
    line = line.substr(0, line.rfind('}', line.size() - 2) + 1);  // npos + 1 is 0
  }
  return line.size();
}

// Where the last whole entry ends; behind the head at least.
off_t end_of_entries(std::string_view tail, off_t tail_offset, off_t head_bytes) {
  for (std::size_t end = tail.size(); end > 0;) {
    const std::size_t newline = tail.rfind('\n', end - 1);
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = tail.substr(begin, end - begin);
    const std::size_t whole = line.starts_with('{') ? object_bytes(line) : 0;
    if (whole > 0) {
      return std::max(tail_offset + static_cast<off_t>(begin + whole), head_bytes);
    }
    end = begin == 0 ? 0 : begin - 1;
  }
  return head_bytes;
}

class Index {
 public:
  ~Index() {
    if (fd_ >= 0) {
      close(fd_);  // which unlocks
    }
  }
  bool open_locked(const std::string& path, bool may_wait) {
    fd_ = event::open_high(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
    struct stat facts {};
    if (fd_ < 0 || fstat(fd_, &facts) != 0 || !lock(fd_, may_wait) || fstat(fd_, &facts) != 0) {
      return false;
    }
    size_ = facts.st_size;
    return true;
  }
  // Of another run, or no index.
  bool is_foreign(const std::string& head) {
    if (size_ == 0) {
      return false;
    }
    const std::string first_line = head + "\n";
    std::string there(std::min(first_line.size(), static_cast<std::size_t>(size_)), '\0');
    // What is cut within its head was begun by a process that was killed over it.
    return !read_at(fd_, 0, there) || !first_line.starts_with(there);
  }
  bool begin_anew() {
    size_ = 0;
    return ftruncate(fd_, 0) == 0;
  }
  bool add(const std::string& head, const std::string& entry);

 private:
  int fd_ = -1;
  off_t size_ = 0;
};

bool Index::add(const std::string& head, const std::string& entry) {
  const auto head_bytes = static_cast<off_t>(head.size());
  if (size_ < head_bytes) {
    return write_at(fd_, 0, head + "\n" + entry + std::string(document_end));
  }
  const off_t tail_offset = std::max<off_t>(size_ - static_cast<off_t>(longest_tail_bytes), 0);
  std::string tail(static_cast<std::size_t>(size_ - tail_offset), '\0');
  if (!read_at(fd_, tail_offset, tail)) {
    return false;
  }
  const off_t end = end_of_entries(tail, tail_offset, head_bytes);
  const std::string text = (end == head_bytes ? "\n" : ",\n") + entry + std::string(document_end);
  const bool added = write_at(fd_, end, text);
  const int error_number = errno;
  if (!added) {
    write_at(fd_, end, document_end);  // as it was: those bytes are the file's already
  }
  const off_t whole = end + static_cast<off_t>(added ? text.size() : document_end.size());
  const bool is_cut = (added && whole >= size_) || ftruncate(fd_, whole) == 0;
  errno = added ? errno : error_number;
  return added && is_cut;
}

// Appears with its end, so that it is never without. Who loses the race finds another's.
void create(const std::string& path, const std::string& head) {
  OutputFile file;
  if (file.open(path, {.overwrite = false})) {
    file.append(head);
    file.append(document_end);
    const bool is_first = file.finish();
    static_cast<void>(is_first);
  }
}

}  // namespace

std::string add_to_index(const std::string& path, const std::string& head, const std::string& entry,
                         bool overwrite, bool* is_busy) {
  Index index;
  const bool may_wait = is_busy == nullptr;
  bool is_open = index.open_locked(path, may_wait);
  if (!is_open && errno == ENOENT) {
    create(path, head);
    is_open = index.open_locked(path, may_wait);
  }
  if (!is_open && !may_wait && errno == EAGAIN) {
    *is_busy = true;
    return {};
  }
  if (!is_open) {
    return file_problem("run index", path, errno);
  }
  if (index.is_foreign(head)) {
    if (!overwrite) {
      return file_problem("run index of another run", path, EEXIST);
    }
    if (!index.begin_anew()) {
      return file_problem("run index", path, errno);
    }
  }
  return index.add(head, entry) ? std::string() : file_problem("run index", path, errno);
}

bool is_other_index(const std::string& path, const std::string& head) {
  LineReader lines;
  std::string_view line;
  return lines.open(path) && lines.next(line) == LineReader::Status::line && line != head;
}

bool index_holds(const std::string& path, std::string_view text) {
  LineReader lines;
  if (!lines.open(path)) {
    return false;
  }
  std::string_view line;
  while (lines.next(line) == LineReader::Status::line) {
    if (line.find(text) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace traceagent::trace
