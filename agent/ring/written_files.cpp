#include "agent/ring/written_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string_view>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::ring {
namespace {

// A path for each file of a run of days, and the records of those that wait. It lies in memory, and
// nobody would read more.
constexpr std::size_t longest_list = 4 << 20;
// So that records find room beside the paths of a run of weeks.
constexpr std::size_t most_bytes_with_path = longest_list / 2;

struct List {
  std::string text;
  bool is_whole = false;
};

List read_list(const std::string& path) {
  List list;
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    list.is_whole = errno == ENOENT;
    return list;
  }
  // It says what is opened and removed. Of another user nothing is believed.
  struct stat facts {};
  const bool is_own = fstat(fd, &facts) == 0 && facts.st_uid == geteuid();
  char buffer[4096];
  ssize_t got = is_own ? 1 : -1;
  while (list.text.size() < longest_list && got > 0) {
    got = event::uninterrupted([&] { return read(fd, buffer, sizeof buffer); });
    if (got > 0) list.text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  // The last line may be half a name, or an empty line stands where one was: see cut_half_line().
  list.is_whole = got == 0 && (list.text.empty() || list.text.back() == '\n') &&
                  !list.text.starts_with('\n') && list.text.find("\n\n") == std::string::npos;
  return list;
}

bool write_whole(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written =
        event::uninterrupted([&] { return write(fd, text.data(), text.size()); });
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Nothing where there is none.
char last_byte(int fd) noexcept {
  char last = '\n';
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || facts.st_size == 0) return last;
  event::uninterrupted([&] { return pread(fd, &last, 1, facts.st_size - 1); });
  return last;
}

// Half a name, where the disk was full or its writer was killed over it: the next one would be
// joined to it. True if there was one, which an empty line is then to tell of.
bool cut_half_line(int fd, const std::string& path) {
  if (last_byte(fd) == '\n') return false;
  const std::string text = read_list(path).text;
  if (text.empty() || text.back() == '\n' || text.size() >= longest_list) return false;
  return ftruncate(fd, static_cast<off_t>(text.rfind('\n') + 1)) == 0;  // npos + 1 is 0
}

}  // namespace

std::string written_files_path(const std::string& ring_path) {
  constexpr std::string_view suffix = ".ring";
  const std::size_t cut = ring_path.ends_with(suffix) ? suffix.size() : 0;
  return ring_path.substr(0, ring_path.size() - cut) + ".files";
}

namespace {

constexpr std::string_view none_waits = "{}";

bool has_room(const std::string& list, std::size_t line_bytes, std::size_t most_bytes) noexcept {
  struct stat facts {};
  const bool is_there = stat(list.c_str(), &facts) == 0;
  // With its end, and the empty line that may come before it.
  return !is_there || static_cast<std::size_t>(facts.st_size) + line_bytes + 2 <= most_bytes;
}

bool add_line(const std::string& ring_path, std::string_view text, int flags) {
  if (ring_path.empty()) return true;
  const std::string path = written_files_path(ring_path);
  std::string line = std::string(text) + "\n";
  const int fd = event::open_high(path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | flags, 0600);
  if (fd < 0) return false;
  if (cut_half_line(fd, path)) line.insert(0, 1, '\n');
  const bool is_written = write_whole(fd, line);
  close(fd);
  return is_written;
}

template <typename Take>
void each_line(std::string_view text, const Take& take) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    if (end > 0) take(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  // What is left has no end: the disk was full.
}

}  // namespace

bool note_written_file(const std::string& ring_path, const std::string& trace_file) {
  return has_room(written_files_path(ring_path), trace_file.size(), most_bytes_with_path) &&
         add_line(ring_path, trace_file, O_CREAT);
}

std::vector<std::string> written_files(const std::string& ring_path, bool* is_whole) {
  std::vector<std::string> files;
  if (ring_path.empty()) return files;
  const List list = read_list(written_files_path(ring_path));
  if (is_whole != nullptr) *is_whole = list.is_whole;
  std::set<std::string_view> known;
  each_line(list.text, [&](std::string_view line) {
    if (!line.starts_with('{') && known.insert(line).second) files.emplace_back(line);
  });
  return files;
}

bool note_waiting_upload(const std::string& ring_path, std::string_view record) {
  return has_room(written_files_path(ring_path), record.size(), longest_list) &&
         add_line(ring_path, record, O_CREAT);
}

// The list may have gone with its ring.
void note_none_waits(const std::string& ring_path) { add_line(ring_path, none_waits, 0); }

std::vector<std::string> waiting_uploads(const std::string& ring_path) {
  std::vector<std::string> records;
  if (ring_path.empty()) return records;
  each_line(read_list(written_files_path(ring_path)).text, [&](std::string_view line) {
    if (line == none_waits) {
      records.clear();
    } else if (line.starts_with('{')) {
      records.emplace_back(line);
    }
  });
  return records;
}

}  // namespace traceagent::ring
