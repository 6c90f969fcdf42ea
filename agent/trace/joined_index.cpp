#include "agent/trace/joined_index.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <vector>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::trace {

namespace {

constexpr int most_tries = 8;

struct Part {
  std::string path;
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

std::int64_t changed_ns(const struct stat& facts) {
  return facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
}

std::vector<Part> parts_of(const std::string& folder, const std::string& stem) {
  std::vector<Part> parts;
  const event::Folder entries = event::open_folder_high(folder.c_str());
  if (entries == nullptr) {
    return parts;
  }
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    Part part{.path = folder + "/" + std::string(name)};
    struct stat facts {};
    if (name.starts_with(stem) && name.ends_with(".json") &&
        lstat(part.path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode)) {
      part.bytes = facts.st_size;
      part.changed_ns = changed_ns(facts);
      parts.push_back(std::move(part));
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.path < b.path; });
  return parts;
}

// What is being added to it just now is not whole yet: it has grown when it is looked at again.
void copy_entries(const Part& part, const std::string& head, bool& is_first, OutputFile& file) {
  LineReader lines;
  std::string_view line;
  if (!lines.open(part.path) || lines.next(line) != LineReader::Status::line || line != head) {
    return;
  }
  while (lines.next(line) == LineReader::Status::line) {
    if (line.ends_with(',')) {
      line.remove_suffix(1);
    }
    if (line.starts_with('{') && is_whole_object(line)) {
      file.append(is_first ? "\n" : ",\n");
      file.append(line);
      is_first = false;
    }
  }
}

}  // namespace

std::string join_indexes(const std::string& folder, const std::string& stem,
                         const std::string& head, const std::string& path,
                         std::uint64_t most_bytes) {
  std::vector<Part> parts = parts_of(folder, stem);
  if (parts.empty()) {
    return {};
  }
  for (int i = 0; i < most_tries; ++i) {
    std::uint64_t bytes = 0;
    for (const Part& part : parts) {
      bytes += static_cast<std::uint64_t>(part.bytes);
    }
    OutputFile file;
    if (bytes > most_bytes) {
      return {};
    }
    if (!file.open(path)) {
      return file.error();
    }
    file.append(head);
    bool is_first = true;
    for (const Part& part : parts) {
      copy_entries(part, head, is_first, file);
    }
    file.append("\n]}\n");
    if (!file.finish()) {
      return file.error();
    }
    std::vector<Part> now = parts_of(folder, stem);
    if (now == parts) {
      return {};
    }
    parts = std::move(now);
  }
  return {};  // others add all the time: the last of them sees all
}

// A file server's clock may be ahead of ours: then as if it were old.
bool was_joined_lately(const std::string& path, std::uint64_t bytes_per_s) noexcept {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) {
    return false;
  }
  const std::int64_t age_ns =
      static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME)) - changed_ns(facts);
  const double due_ns = 1e9 * static_cast<double>(facts.st_size) / static_cast<double>(bytes_per_s);
  return age_ns >= 0 && static_cast<double>(age_ns) < due_ns;
}

}  // namespace traceagent::trace
