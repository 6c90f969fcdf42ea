#include "agent/process/note_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::process {
namespace {

constexpr std::size_t longest_text = 1 << 20;

int create_new(const std::string& path) {
  return event::open_high(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

void write_text(int fd, const std::string& text) {
  const ssize_t written = write(fd, text.data(), text.size());
  static_cast<void>(written);  // in tmpfs; a lost line costs one file in the merge, which says so
}

}  // namespace

bool make_note(const std::string& path, const std::string& text) {
  const int fd = create_new(path);
  if (fd < 0) return false;
  if (!text.empty()) write_text(fd, text);
  close(fd);
  return true;
}

std::string read_note(const std::string& path) {
  std::string text;
  // The folder may be another user's: a pipe there would hold the job. So it fails, as a pipe has
  // no places to be read from.
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t got = 1;
  while (text.size() < longest_text && got > 0) {
    const auto at = static_cast<off_t>(text.size());
    got = event::uninterrupted([&] { return pread(fd, buffer, sizeof buffer, at); });
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace traceagent::process
