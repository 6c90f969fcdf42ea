#include "agent/counters/proc_text.hpp"

#include <charconv>

namespace traceagent::counters {
namespace {

constexpr std::uint64_t sector_bytes = 512;  // whatever the disk's own are

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool skip_numbers(std::string_view& text, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    if (!take_number(text)) return false;
  }
  return true;
}

bool has_word(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<std::uint64_t> take_number(std::string_view& text) noexcept {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at, end, value);
  if (read.ec != std::errc()) return std::nullopt;
  // 1.5 and 12abc are no whole numbers.
  if (read.ptr != end && *read.ptr != ' ' && *read.ptr != '\n') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return value;
}

std::string_view take_word(std::string_view& line) noexcept {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  const std::string_view word = line.substr(0, line.find_first_of(" \t\n"));
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::string_view> take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::uint64_t> resident_pages(std::string_view statm) noexcept {
  if (!skip_numbers(statm, 1)) return std::nullopt;
  const auto pages = take_number(statm);
  return pages && *pages != 0 ? pages : std::nullopt;
}

// "<pid> (<name>) <state> <ppid> …": the name may hold parentheses itself.
std::optional<std::uint64_t> thread_count(std::string_view stat) noexcept {
  const std::size_t behind_name = stat.rfind(") ");
  if (behind_name == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(behind_name + 2);
  constexpr int fields_before = 17;  // the state is the first of them; some are negative
  for (int i = 0; i < fields_before; ++i) take_word(stat);
  const auto threads = take_number(stat);
  return threads && *threads != 0 ? threads : std::nullopt;
}

std::optional<std::uint64_t> value_of(std::string_view text, std::string_view key) noexcept {
  while (const auto line = take_line(text)) {
    if (!line->starts_with(key) || line->size() <= key.size() || (*line)[key.size()] != ':') {
      continue;
    }
    std::string_view rest = line->substr(key.size() + 1);
    return take_number(rest);
  }
  return std::nullopt;
}

std::optional<std::array<std::uint64_t, 4>> cpu_times(std::string_view stat) noexcept {
  if (!stat.starts_with("cpu ")) return std::nullopt;
  stat.remove_prefix(4);
  // user nice system idle iowait irq softirq steal; what follows is in user and nice already.
  std::array<std::uint64_t, 8> times{};
  for (std::uint64_t& time : times) {
    const auto number = take_number(stat);
    if (!number || *number > UINT64_MAX / times.size()) return std::nullopt;
    time = *number;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t time : times) all += time;
  return {{times[0] + times[1], times[2] + times[5] + times[6], times[4], all}};
}

std::optional<DeviceLine> disk_of(std::string_view line) noexcept {
  // major minor name reads merged sectors ms writes merged sectors …
  if (!skip_numbers(line, 2)) return std::nullopt;
  const std::string_view name = take_word(line);
  if (name.empty() || !skip_numbers(line, 2)) return std::nullopt;
  const auto read = take_number(line);
  if (!read || !skip_numbers(line, 3)) return std::nullopt;
  const auto written = take_number(line);
  constexpr std::uint64_t most = UINT64_MAX / sector_bytes;
  if (!written || *read > most || *written > most) return std::nullopt;
  return {{name, {*read * sector_bytes, *written * sector_bytes}}};
}

std::optional<DeviceLine> interface_of(std::string_view line) noexcept {
  // name: bytes packets errs drop fifo frame compressed multicast bytes …; an alias has a colon in
  // its name, and no line here.
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view before = line.substr(0, colon);
  const std::string_view name = take_word(before);
  line.remove_prefix(colon + 1);
  const auto received = take_number(line);
  if (name.empty() || !received || !skip_numbers(line, 7)) return std::nullopt;
  const auto sent = take_number(line);
  if (!sent) return std::nullopt;
  return {{name, {*received, *sent}}};
}

std::vector<std::string> group_and_above(std::string_view path) {
  constexpr std::size_t most_levels = 32;
  if (path.find("/..") != std::string_view::npos) path = {};
  std::vector<std::string> groups;
  while (groups.size() < most_levels) {
    while (path.ends_with('/')) path.remove_suffix(1);
    groups.emplace_back(path);
    if (path.empty()) break;
    const std::size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return groups;
}

std::optional<MemoryGroup> memory_group(std::string_view cgroup) noexcept {
  std::optional<MemoryGroup> found;
  while (const auto line = take_line(cgroup)) {
    const std::size_t first = line->find(':');
    const std::size_t second = first == std::string_view::npos ? first : line->find(':', first + 1);
    if (second == std::string_view::npos || !is_digit(line->front())) continue;
    const std::string_view controllers = line->substr(first + 1, second - first - 1);
    const std::string_view path = line->substr(second + 1);
    if (path.find("/..") != std::string_view::npos) continue;
    // Where version 1 has the memory, version 2's line names a group that has none.
    if (has_word(controllers, "memory")) return {{path, false}};
    if (controllers.empty()) found = {path, true};
  }
  return found;
}

}  // namespace traceagent::counters
