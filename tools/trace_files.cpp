#include "tools/trace_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "agent/trace/input_file.hpp"
#include "agent/trace/judged_folder.hpp"

namespace traceagent::tools {

namespace fs = std::filesystem;

namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool has_suffix(const fs::path& path, const std::vector<std::string>& suffixes) {
  const std::string name = path.filename().string();
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& suffix) { return name.ends_with(suffix); });
}

// Its first bytes; nothing where it cannot be opened.
std::optional<std::string> beginning_of(const std::string& path, std::size_t bytes) {
  trace::InputFile file;
  if (!file.open(path)) return std::nullopt;
  std::string text(bytes, '\0');
  std::size_t size = 0;
  std::size_t got = 0;
  while (size < text.size() &&
         file.read(text.data() + size, text.size() - size, got) == trace::InputFile::Status::data) {
    size += got;
  }
  text.resize(size);
  return text;
}

// What a run has saved (agent/drain/run_index.hpp): no trace, and nobody's mistake.
bool is_run_index(const fs::path& path) {
  constexpr std::string_view begin = "{\"run_key\":";
  if (path.parent_path().filename() != "index") return false;
  const auto text = beginning_of(path.string(), begin.size());
  // What was cut within it begins so too.
  return text && begin.starts_with(*text);
}

// Folders that are links are not entered: they may lead round in a circle. What cannot be looked
// into is told, and the others are gone through.
void look_into(const std::string& folder, const FolderOptions& options, TraceFiles& found) {
  std::vector<std::string> within;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const fs::path& path = at->path();
    const fs::file_type type = at->status(unknown).type();
    if (is_hidden(path)) continue;
    if (type == fs::file_type::directory) {
      if (options.recursive && !at->is_symlink(unknown)) within.push_back(path.string());
    } else if (has_suffix(path, options.suffixes) && type == fs::file_type::regular) {
      if (!is_run_index(path)) found.paths.push_back(path.string());
    } else if (has_suffix(path, options.suffixes) && at->is_symlink(unknown)) {
      const bool leads_nowhere = type == fs::file_type::not_found || type == fs::file_type::none ||
                                 type == fs::file_type::unknown;
      if (leads_nowhere) {
        found.add_unread("a link that leads to no file", path.string(),
                         "bring the file back, or remove the link");
      }
    }
  }
  if (error) {
    found.add_unread("cannot read a folder", folder,
                     error.message() + ": give one that this user may read");
  }
  for (const std::string& each : within) look_into(each, options, found);
}

std::string list_of(const std::vector<std::string>& suffixes) {
  std::string list;
  for (const std::string& suffix : suffixes) {
    list += (list.empty() ? "*" : " or *") + suffix;
  }
  return list;
}

void add_folder(const std::string& folder, const FolderOptions& options, TraceFiles& files) {
  TraceFiles found;
  look_into(folder, options, found);
  std::sort(found.paths.begin(), found.paths.end());
  if (found.paths.empty() && found.problems.empty()) {
    found.problems.push_back("no trace: " + folder + ": give a folder that holds " +
                             list_of(options.suffixes) +
                             (options.recursive ? "" : ", or --recursive for those within it"));
  }
  files.problems.insert(files.problems.end(), found.problems.begin(), found.problems.end());
  files.unread.insert(files.unread.end(), found.unread.begin(), found.unread.end());
  for (const std::string& path : found.paths) {
    (is_own_trace(path) ? files.paths : files.foreign).push_back(path);
  }
}

}  // namespace

void TraceFiles::add_unread(const char* what, const std::string& path, const std::string& remedy) {
  problems.push_back(std::string(what) + ": " + path + ": " + remedy);
  const std::string name = fs::path(path).filename().string();
  unread.push_back({name.empty() ? path : name, problems.back()});
}

std::optional<bool> is_own_if_open(const std::string& path) {
  constexpr std::string_view begin = "{\n\"schemaVersion\": 1,\n\"distributedInfo\": {\"";
  const auto text = beginning_of(path, begin.size());
  if (!text) return std::nullopt;
  // An empty one, or damaged gzip data, is nobody's.
  return !text->empty() && begin.starts_with(*text);
}

bool is_own_trace(const std::string& path) { return is_own_if_open(path).value_or(true); }

bool is_named_pipe(const std::string& path) {
  std::error_code error;
  if (!fs::is_fifo(path, error)) return false;
  // What /dev/stdin and /dev/fd/63 lead to has no name in any folder.
  const fs::path named = fs::canonical(path, error);
  return !error && fs::exists(named, error);
}

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t sum = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    sum += (error ? 0 : size) + trace::JudgedFolder::bytes_of_events(path);
  }
  return sum;
}

TraceFiles trace_files(const std::vector<std::string>& files_and_folders,
                       const FolderOptions& options) {
  TraceFiles files;
  for (const std::string& path : files_and_folders) {
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    if (error) {
      files.add_unread("no such input", path, error.message() + ": give files that are there");
    } else if (type == fs::file_type::directory) {
      add_folder(path, options, files);
    } else if (type == fs::file_type::fifo) {
      files.add_unread("a pipe, not a file", path,
                       "a merge reads files more than once: write it into one first: cat " + path +
                           " > trace.json");
    } else {
      files.paths.push_back(path);
    }
  }
  return files;
}

}  // namespace traceagent::tools
