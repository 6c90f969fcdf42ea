#include "agent/trace/index_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/file_size_limit.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view document_end = "\n]}\n";
constexpr std::size_t longest_tail_bytes = 64 << 10;  // more than any line that is added

bool read_at(int fd, off_t offset, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = event::uninterrupted([&] { return pread(fd, bytes, size, offset); });
    if (got <= 0) {
      errno = got == 0 ? EIO : errno;
      return false;
    }
    bytes += got;
    size -= static_cast<std::size_t>(got);
    offset += got;
  }
  return true;
}

bool write_at(int fd, off_t offset, std::string_view text) {
  FileSizeLimitGuard guard;
  while (!text.empty()) {
    const ssize_t put =
        event::uninterrupted([&] { return pwrite(fd, text.data(), text.size(), offset); });
    if (put <= 0) {
      errno = put == 0 ? ENOSPC : errno;
      guard.limit_reached();
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

// The file under the name, locked against all who add to it.
class Index {
 public:
  explicit Index(const std::string& path) : path_(path) {}
  ~Index() { close_file(); }
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Makes one where there is none. False, with errno: EAGAIN where another has it.
  bool open_locked(const std::string& head, bool may_wait);
  // Of another run, or no index.
  bool is_foreign(const std::string& head) const;
  void begin_anew() { size_ = 0; }
  // One line of problem, or empty.
  std::string add(const std::string& head, const std::string& entry);

 private:
  bool try_lock();
  bool find_end(off_t head_bytes, off_t& end);
  std::string make_anew(const std::string& head, const std::string& entry, off_t end) const;
  std::string append(const std::string& entry, off_t end);
  bool close_file() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || close(fd) == 0 || errno == EINTR;  // which unlocks
  }

  const std::string& path_;
  int fd_ = -1;
  off_t size_ = 0;
  mode_t mode_ = 0;
  bool is_shared_ = false;  // another's, or of another name too
  bool is_whole_ = false;   // behind its entries is the document's end
};

// A record lock, as the rings have: a forked child of the job does not hold it. Whoever adds may
// put another file under the name, and has locked the one that was there: to have locked one that
// is no longer there is to have locked nothing.
bool Index::try_lock() {
  close_file();
  fd_ = event::open_high(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fd_ < 0 || event::uninterrupted([&] { return fcntl(fd_, F_SETLK, &whole); }) != 0) {
    errno = errno == EACCES && fd_ >= 0 ? EAGAIN : errno;
    return false;
  }
  struct stat locked {};
  struct stat named {};
  if (fstat(fd_, &locked) != 0 || lstat(path_.c_str(), &named) != 0) {
    return false;
  }
  if (locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) {
    errno = EAGAIN;
    return false;
  }
  if (!S_ISREG(locked.st_mode)) {
    errno = EINVAL;
    return false;
  }
  size_ = locked.st_size;
  mode_ = locked.st_mode & 07777;
  is_shared_ = locked.st_nlink != 1 || locked.st_uid != geteuid();
  return true;
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

bool Index::open_locked(const std::string& head, bool may_wait) {
  const timespec pause{0, 5'000'000};
  const int most_looks = may_wait ? 100 : 1;
  for (int look = 0; look < most_looks; ++look) {
    if (look > 0) {
      nanosleep(&pause, nullptr);
    }
    bool is_locked = try_lock();
    if (!is_locked && errno == ENOENT) {
      create(path_, head);
      is_locked = try_lock();
    }
    if (is_locked || errno != EAGAIN) {
      return is_locked;
    }
  }
  errno = EAGAIN;
  return false;
}

bool Index::is_foreign(const std::string& head) const {
  if (size_ == 0) {
    return false;
  }
  const std::string first_line = head + "\n";
  std::string there(std::min(first_line.size(), static_cast<std::size_t>(size_)), '\0');
  // One that is cut within its head was begun by a process that was killed over it.
  return !read_at(fd_, 0, there.data(), there.size()) || !first_line.starts_with(there);
}

bool Index::find_end(off_t head_bytes, off_t& end) {
  const off_t tail_offset = std::max<off_t>(size_ - static_cast<off_t>(longest_tail_bytes), 0);
  std::string tail(static_cast<std::size_t>(size_ - tail_offset), '\0');
  if (!read_at(fd_, tail_offset, tail.data(), tail.size())) {
    return false;
  }
  end = end_of_entries(tail, tail_offset, head_bytes);
  is_whole_ = end >= tail_offset && tail.compare(static_cast<std::size_t>(end - tail_offset),
                                                 std::string::npos, document_end) == 0;
  return true;
}

// What a killed writer has left of a file for this name: who has the lock is the only one.
void remove_half_made(const std::string& path) {
  const std::size_t name_begin = path.rfind('/') + 1;  // npos + 1 is 0
  const std::string folder = name_begin == 0 ? "." : path.substr(0, name_begin);
  const std::string stem = "." + path.substr(name_begin) + ".tmp-";
  const event::Folder entries = event::open_folder_high(folder.c_str());
  if (entries == nullptr) {
    return;
  }
  while (const dirent* entry = readdir(entries.get())) {
    if (std::string_view(static_cast<const char*>(entry->d_name)).starts_with(stem)) {
      unlinkat(dirfd(entries.get()), static_cast<const char*>(entry->d_name), 0);
    }
  }
}

// `size` bytes of its beginning; a file that cannot be read is as one that cannot be written.
bool copy_beginning(int fd, off_t size, OutputFile& file) {
  for (off_t done = 0; done < size;) {
    const std::size_t part =
        std::min(static_cast<std::size_t>(size - done), OutputFile::max_reserve_bytes);
    if (!read_at(fd, done, file.reserve(part), part)) {
      return false;
    }
    file.commit(part);
    done += static_cast<off_t>(part);
  }
  return true;
}

// OutputFile's words are those of a trace.
std::string of_the_index(std::string problem) {
  constexpr std::string_view trace = " a trace: ";
  const std::size_t at = problem.find(trace);
  return at == std::string::npos ? problem : problem.replace(at, trace.size(), " the run index: ");
}

std::string separated(const std::string& entry, bool is_first) {
  return (is_first ? "\n" : ",\n") + entry;
}

std::string Index::make_anew(const std::string& head, const std::string& entry, off_t end) const {
  OutputFile file;
  if (!file.open(path_) || !file.keep_mode(mode_)) {
    return of_the_index(file.error());
  }
  if (end == 0) {
    file.append(head);
  } else if (!copy_beginning(fd_, end, file)) {
    return file_problem("run index", path_, errno);
  }
  file.append(separated(entry, end <= static_cast<off_t>(head.size())));
  file.append(document_end);
  return file.finish() ? std::string() : of_the_index(file.error());
}

// In one call, so that a kill finds no half of it as a rule. What a full disk took a part of is
// taken back: the end that was there has its bytes already. NFS tells of a full disk by close
// alone.
std::string Index::append(const std::string& entry, off_t end) {
  const std::string text = separated(entry, false) + std::string(document_end);
  if (!write_at(fd_, end, text)) {
    const int error_number = errno;
    if (write_at(fd_, end, document_end)) {
      static_cast<void>(ftruncate(fd_, size_) == 0);
    }
    return file_problem("run index", path_, error_number);
  }
  return close_file() ? std::string() : file_problem("run index", path_, errno);
}

std::string Index::add(const std::string& head, const std::string& entry) {
  const auto head_bytes = static_cast<off_t>(head.size());
  const bool is_begun = size_ >= head_bytes;
  off_t end = 0;
  if (is_begun && !find_end(head_bytes, end)) {
    return file_problem("run index", path_, errno);
  }
  remove_half_made(path_);
  const bool is_long = size_ >= static_cast<off_t>(longest_copied_index_bytes);
  return is_long && is_whole_ && !is_shared_ ? append(entry, end) : make_anew(head, entry, end);
}

}  // namespace

std::string add_to_index(const std::string& path, const std::string& head, const std::string& entry,
                         bool overwrite, bool* is_busy) {
  Index index(path);
  const bool may_wait = is_busy == nullptr;
  if (!index.open_locked(head, may_wait)) {
    if (!may_wait && errno == EAGAIN) {
      *is_busy = true;
      return {};
    }
    return file_problem("run index", path, errno);
  }
  if (index.is_foreign(head)) {
    if (!overwrite) {
      return file_problem("run index of another run", path, EEXIST);
    }
    index.begin_anew();
  }
  return index.add(head, entry);
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
