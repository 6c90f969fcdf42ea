#include "tools/import/sorted_runs.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "agent/trace/file_size_limit.hpp"

namespace traceagent::tools {

namespace {

class AppendedFile {
 public:
  AppendedFile(const std::string& path, bool is_new)
      : descriptor_(::open(path.c_str(),
                           O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0),
                           0600)) {
    error_number_ = descriptor_ < 0 ? errno : 0;
  }
  ~AppendedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void seek(std::size_t least_offset) {
    const off_t end = descriptor_ < 0 ? 0 : ::lseek(descriptor_, 0, SEEK_END);
    if (end < static_cast<off_t>(least_offset) && descriptor_ >= 0) {
      ::lseek(descriptor_, static_cast<off_t>(least_offset), SEEK_SET);
    }
  }

  void write(const char* bytes, std::size_t size) {
    trace::FileSizeLimitGuard guard;
    while (size > 0 && error_number_ == 0) {
      const ssize_t done = ::write(descriptor_, bytes, size);
      if (done < 0 && errno != EINTR) error_number_ = errno;
      if (error_number_ == EFBIG) guard.limit_reached();
      if (done > 0) {
        bytes += done;
        size -= static_cast<std::size_t>(done);
      }
    }
  }

  [[nodiscard]] int error_number() const { return error_number_; }

 private:
  int descriptor_;
  int error_number_ = 0;
};

}  // namespace

SortedRuns::SortedRuns(std::string prefix, std::size_t head_bytes, std::size_t bytes)
    : prefix_(std::move(prefix)),
      head_bytes_(head_bytes),
      capacity_(bytes),
      buffer_(new_buffer(bytes)),
      other_(new_buffer(bytes)) {}

// In large pages where there are such: a fault for each 4 KiB takes as long as filling them.
SortedRuns::Buffer SortedRuns::new_buffer(std::size_t bytes) {
  constexpr std::size_t large_page_bytes = std::size_t{2} << 20;
  const bool is_large = bytes % large_page_bytes == 0;
  void* const memory = is_large ? std::aligned_alloc(large_page_bytes, bytes) : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (is_large) ::madvise(memory, bytes, MADV_HUGEPAGE);
  return Buffer(static_cast<char*>(memory));
}

void SortedRuns::finish() {
  write_some(used_);
  buffer_.reset();
  other_.reset();
  lines_ = {};
}

// Each line that is too late goes back to its place: linear where those are near, as they mostly
// are. False: they are far, and not all is sorted.
bool SortedRuns::sort_by_moves() {
  constexpr std::size_t most_moves_each = 8;
  std::size_t moves_left = most_moves_each * lines_.size();
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const Line line = lines_[i];
    std::size_t at = i;
    for (; at > 0 && lines_[at - 1].ts_ns > line.ts_ns && moves_left > 0; --at, --moves_left) {
      lines_[at] = lines_[at - 1];
    }
    lines_[at] = line;
  }
  return moves_left > 0;
}

// Lines of one time stay in the order of their offsets.
void SortedRuns::sort() {
  if (is_sorted_ || sort_by_moves()) return;
  std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) {
    return a.ts_ns != b.ts_ns ? a.ts_ns < b.ts_ns : a.offset < b.offset;
  });
}

// The earliest of the lines held, of that many bytes or a line more.
void SortedRuns::write_some(std::size_t least_bytes) {
  sort();
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < lines_.size() && bytes < least_bytes) {
    bytes += lines_[count++].bytes;
  }
  // Each run takes what is not earlier than its end; the run that is furthest takes first.
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.last_ns > b.last_ns; });
  write_lines(0, count);
  keep_from(count);
}

void SortedRuns::write_lines(std::size_t first, std::size_t last) {
  for (Run& run : runs_) {
    const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(last);
    const auto fits = std::lower_bound(begin, end, run.last_ns,
                                       [](const Line& a, std::int64_t ns) { return a.ts_ns < ns; });
    const auto from = static_cast<std::size_t>(fits - lines_.begin());
    append(run, from, last);
    last = from;
  }
  if (first < last) {
    runs_.push_back({prefix_ + std::to_string(runs_.size()), 0, lines_[first].ts_ns, 0});
    append(runs_.back(), first, last);
  }
}

// The text of lines that are to stand behind each other: where they do not already they are
// gathered in the other buffer, which keep_from() uses only then.
std::string_view SortedRuns::text_of(std::size_t first, std::size_t last) const {
  const char* const begin = buffer_.get() + lines_[first].offset;
  std::size_t bytes = 0;
  bool is_together = true;
  for (std::size_t i = first; i < last; ++i) {
    is_together = is_together && lines_[i].offset == lines_[first].offset + bytes;
    bytes += lines_[i].bytes;
  }
  if (is_together) return {begin, bytes};
  char* to = other_.get();
  for (std::size_t i = first; i < last; ++i) {
    std::memcpy(to, buffer_.get() + lines_[i].offset, lines_[i].bytes);
    to += lines_[i].bytes;
  }
  return {other_.get(), bytes};
}

void SortedRuns::append(Run& run, std::size_t first, std::size_t last) {
  if (first == last || error_number_ != 0) return;
  const std::string_view text = text_of(first, last);
  for (std::size_t i = first; i < last; ++i) run.spans.add(lines_[i].ts_ns);
  AppendedFile file(run.path, run.lines == 0);
  file.seek(head_bytes_);
  // The line before ended without comma and newline: nobody knew then that there would be another.
  if (run.lines > 0) file.write(",\n", 2);
  file.write(text.data(), text.size() - 2);
  error_number_ = file.error_number();
  run.lines += last - first;
  run.last_ns = lines_[last - 1].ts_ns;
}

// What stays moves to the front, in the order of time: of one time the order of offsets is kept.
void SortedRuns::keep_from(std::size_t first) {
  std::size_t used = 0;
  for (std::size_t i = first; i < lines_.size(); ++i) {
    Line& line = lines_[i];
    std::memcpy(other_.get() + used, buffer_.get() + line.offset, line.bytes);
    line.offset = static_cast<std::uint32_t>(used);
    used += line.bytes;
  }
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(first));
  std::swap(buffer_, other_);
  used_ = used;
  is_sorted_ = true;
}

}  // namespace traceagent::tools
