#include "agent/trace/journal_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::trace {
namespace {

constexpr std::size_t most_head_bytes = 64;

class OpenedJournal {
 public:
  // The folder may be another user's: a pipe there would hold the job. So it fails, as a pipe has
  // no places to be read from.
  explicit OpenedJournal(const std::string& path)
      : fd_(event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)) {}
  ~OpenedJournal() {
    if (fd_ >= 0) close(fd_);
  }
  OpenedJournal(const OpenedJournal&) = delete;
  OpenedJournal& operator=(const OpenedJournal&) = delete;

  int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

ssize_t read_at(int fd, char* to, std::size_t size, std::uint64_t offset) {
  return event::uninterrupted([&] { return pread(fd, to, size, static_cast<off_t>(offset)); });
}

// That nobody else can have written.
bool is_own_file(int fd) noexcept {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

JournalReader::JournalReader(std::string path, std::size_t most_line_bytes, From from)
    : path_(std::move(path)), most_line_bytes_(most_line_bytes), from_(from) {}

bool JournalReader::read(const Take& take, const std::function<void()>& begin_anew) {
  const OpenedJournal journal(path_);
  if (journal.fd() < 0) {
    if (errno != ENOENT) return false;
    begin_anew();
    replace_by({});
    return true;
  }
  // Of what is open, at each reading: who may write the folder may put another file in its place.
  if (from_ == From::own && !is_own_file(journal.fd())) {
    errno = EPERM;
    return false;
  }
  std::string head(most_head_bytes, '\0');
  const ssize_t head_bytes = read_at(journal.fd(), head.data(), head.size(), 0);
  if (head_bytes < 0) return false;
  head.resize(static_cast<std::size_t>(head_bytes));
  begin_if_other(std::move(head), begin_anew);
  return read_on(journal.fd(), take);
}

// Told by its first bytes, which have an id: an inode's number is soon another file's.
void JournalReader::begin_if_other(std::string head, const std::function<void()>& begin_anew) {
  if (!head.starts_with(head_)) {
    begin_anew();
    replace_by({});
  }
  head_ = std::move(head);
}

void JournalReader::replace_by(std::string_view text) {
  head_ = text.substr(0, most_head_bytes);
  offset_ = end_ = text.size();
  is_in_long_line_ = false;
}

bool JournalReader::read_on(int fd, const Take& take) {
  std::string text;
  std::vector<char> buffer(std::size_t{64} << 10);
  for (std::uint64_t at = offset_;;) {
    const ssize_t got = read_at(fd, buffer.data(), buffer.size(), at);
    if (got == 0) end_ = at;
    if (got <= 0) return got == 0;
    at += static_cast<std::uint64_t>(got);
    bytes_read_ += static_cast<std::uint64_t>(got);
    text.append(buffer.data(), static_cast<std::size_t>(got));
    const std::size_t last = text.rfind('\n');
    if (last != std::string::npos) {
      take_lines(std::string_view(text).substr(0, last + 1), take);
      offset_ += last + 1;
      text.erase(0, last + 1);
    }
    if (text.size() > most_line_bytes_) {
      is_in_long_line_ = true;
      offset_ += text.size();
      text.clear();
    }
  }
}

// Each with its newline.
void JournalReader::take_lines(std::string_view text, const Take& take) {
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(end + 1)) {
    end = text.find('\n');
    if (end > 0 && !is_in_long_line_) take(text.substr(0, end));
    is_in_long_line_ = false;
  }
}

}  // namespace traceagent::trace
