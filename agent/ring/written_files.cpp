#include "agent/ring/written_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace traceagent::ring {
namespace {

constexpr std::size_t longest_list = 1 << 20;

std::string read_list(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t got = 0;
  while (text.size() < longest_list && (got = read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace

std::string written_files_path(const std::string& ring_path) {
  constexpr std::string_view suffix = ".ring";
  const std::size_t cut = ring_path.ends_with(suffix) ? suffix.size() : 0;
  return ring_path.substr(0, ring_path.size() - cut) + ".files";
}

void note_written_file(const std::string& ring_path, const std::string& trace_file) {
  if (ring_path.empty()) return;
  const int fd = open(written_files_path(ring_path).c_str(),
                      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const std::string line = trace_file + "\n";
  const ssize_t written = write(fd, line.data(), line.size());
  static_cast<void>(written);
  close(fd);
}

std::vector<std::string> written_files(const std::string& ring_path) {
  std::vector<std::string> files;
  if (ring_path.empty()) return files;
  const std::string text = read_list(written_files_path(ring_path));
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) break;  // the disk was full: half a name
    std::string file = text.substr(start, end - start);
    const bool is_new = std::find(files.begin(), files.end(), file) == files.end();
    if (!file.empty() && is_new) files.push_back(std::move(file));
    start = end + 1;
  }
  return files;
}

}  // namespace traceagent::ring
