#include "tools/node_rank_files.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "agent/drain/run_index.hpp"
#include "agent/ring/written_files.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

struct Begin {
  std::int64_t rank = 0, base_ns = 0;
  auto operator<=>(const Begin&) const = default;
};

std::vector<std::string> sources_of(const std::string& node_file) {
  trace::TraceReader reader;
  return reader.open(node_file) ? reader.header().sources : std::vector<std::string>{};
}

Begin begin_in(const std::string& source) {
  return {trace::integer_member(source, "rank").value_or(-1),
          trace::integer_member(source, "baseTimeNanoseconds").value_or(0)};
}

std::set<Begin> begins_in(const std::string& node_file) {
  std::set<Begin> begins;
  for (const std::string& source : sources_of(node_file)) begins.insert(begin_in(source));
  return begins;
}

Begin begin_of(const std::string& rank_file) {
  trace::TraceReader reader;
  if (!reader.open(rank_file)) return {-1, 0};
  return {reader.header().rank, reader.header().base_ns};
}

std::set<std::string> folders_of(const std::vector<std::string>& rings, const NodeOfRun& node) {
  std::set<std::string> folders{fs::path(node.path).parent_path().string(), node.job_folder};
  for (const std::string& ring : rings) {
    for (const std::string& file : ring::written_files(ring)) {
      folders.insert(fs::path(file).parent_path().string());
    }
  }
  return folders;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) files.push_back(at->path().string());
  }
  return files;
}

// By the first ring that can be read; they all say the same.
std::vector<std::string> indexed_files(const std::vector<std::string>& rings) {
  std::vector<std::string> files;
  for (const std::string& path : rings) {
    ring::OpenedRing opened = ring::open_ring(path);
    const bool sound = is_sound(opened);
    if (sound) files = drain::indexed_files(opened.ring);
    ring::close_ring(opened);
    if (sound) break;
  }
  return files;
}

// The node's file, and that which the job's own folder has, where another one was named.
std::vector<std::string> merged_files(const NodeOfRun& node) {
  std::vector<std::string> files;
  for (const std::string& node_file :
       {node.path,
        node.job_folder + node.path.substr(std::min(node.folder.size(), node.path.size()))}) {
    if (kind_of(node_file, node) != Kind::node_file) continue;
    for (const std::string& source : sources_of(node_file)) {
      files.push_back(trace::unescaped(trace::string_member(source, "name").value_or("")));
    }
  }
  return files;
}

// Which window of which process; nothing where the file is not whole. Reads all of it.
using Window = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
std::optional<Window> window_of(const std::string& path) {
  trace::TraceReader reader;
  if (!reader.open(path)) return std::nullopt;
  while (reader.next().kind != trace::TraceLine::Kind::end) {
  }
  if (!reader.footer().closed || !reader.problem().empty()) return std::nullopt;
  const auto number = [&](const char* object, const char* key) {
    const auto text = trace::member(reader.footer().metadata, object).value_or("");
    return trace::integer_member(text, key).value_or(-1);
  };
  return Window{number("identity", "pid"), number("window", "cycle"),
                number("window", "begin_ticks")};
}

// Of files that begin alike. What is cut gives way to one that is whole.
std::vector<std::string> one_of_each_window(const std::vector<std::string>& files) {
  if (files.size() == 1) return files;
  std::set<Window> windows;
  std::vector<std::string> taken;
  for (const std::string& file : files) {
    const auto window = window_of(file);
    if (window && windows.insert(*window).second) taken.push_back(file);
  }
  return taken.empty() ? files : taken;
}

}  // namespace

std::vector<std::string> rank_files(const std::vector<std::string>& rings, const NodeOfRun& node) {
  std::set<std::string> candidates;
  const auto add = [&](const std::vector<std::string>& files) {
    candidates.insert(files.begin(), files.end());
  };
  for (const std::string& folder : folders_of(rings, node)) add(files_in(folder));
  add(indexed_files(rings));
  add(merged_files(node));
  std::vector<std::string> ordered(candidates.begin(), candidates.end());
  std::erase_if(ordered, [&](const auto& file) { return kind_of(file, node) != Kind::rank_file; });
  std::stable_partition(ordered.begin(), ordered.end(), [&](const std::string& file) {
    return file.starts_with(node.folder + "/");
  });
  std::map<Begin, std::vector<std::string>> alike;
  for (const std::string& file : ordered) alike[begin_of(file)].push_back(file);
  std::vector<std::string> files;
  for (const auto& [begin, same] : alike) {
    const std::vector<std::string> taken = one_of_each_window(same);
    files.insert(files.end(), taken.begin(), taken.end());
  }
  return files;
}

bool has_other_rank(const std::string& path, const std::vector<std::string>& files) {
  std::set<std::int64_t> ranks;
  for (const std::string& file : files) ranks.insert(begin_of(file).rank);
  const std::set<Begin> begins = begins_in(path);
  return std::any_of(begins.begin(), begins.end(),
                     [&](const Begin& begin) { return !ranks.contains(begin.rank); });
}

std::vector<std::string> files_not_in(const std::string& path,
                                      const std::vector<std::string>& files) {
  const std::set<Begin> begins = begins_in(path);
  std::vector<std::string> others;
  std::copy_if(files.begin(), files.end(), std::back_inserter(others),
               [&](const std::string& file) { return !begins.contains(begin_of(file)); });
  return others;
}

}  // namespace traceagent::tools
