#include "agent/trace/removed_cycles.hpp"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/event/high_descriptor.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/line_reader.hpp"

namespace traceagent::trace {

namespace {

// A file of a rank, as an index tells of it.
struct SavedFile {
  std::int64_t rank = 0;
  std::optional<std::int64_t> base_ns;  // where its times begin
};

// The files that a merge is made of. A rank has one file of each base. The indexes of earlier
// versions have no base, but the end of the path by which a file was named: it may be another by
// now.
class Sources {
 public:
  explicit Sources(const std::vector<std::string>& sources) {
    for (const std::string& source : sources) {
      const std::string_view name = string_member(source, "name").value_or("");
      const std::int64_t rank = integer_member(source, "rank").value_or(0);
      if (const auto base_ns = integer_member(source, "baseTimeNanoseconds")) {
        bases_.emplace(rank, *base_ns);
      }
      names_.insert(key_of(rank, name));
      for (std::size_t slash = 0; (slash = name.find('/', slash)) != std::string_view::npos;) {
        names_.insert(key_of(rank, name.substr(++slash)));
      }
    }
  }

  bool have(const SavedFile& file, std::string_view name) const {
    return file.base_ns ? bases_.contains({file.rank, *file.base_ns})
                        : names_.contains(key_of(file.rank, name));
  }

 private:
  static std::string key_of(std::int64_t rank, std::string_view name) {
    return std::to_string(rank) + ":" + std::string(name);
  }

  std::unordered_set<std::string> names_;
  std::set<std::pair<std::int64_t, std::int64_t>> bases_;  // with their ranks
};

// One index, from its first entry to its last. In mind are the files that are there, and those that
// had gone before they were told of.
class Count {
 public:
  Count(const Sources& sources, const std::vector<std::int64_t>& ranks, std::int64_t since_ns)
      : sources_(sources), ranks_(ranks), since_ns_(since_ns) {}

  void take(std::string_view entry) {
    if (const auto saved = string_member(entry, "saved")) {
      save(std::string(*saved), entry);
    } else if (const auto removed = string_member(entry, "removed")) {
      remove(std::string(*removed), &RemovedCycles::by_keep);
    } else if (const auto left = string_member(entry, "left_out"); left && !stays(entry)) {
      remove(std::string(*left), &RemovedCycles::by_queue);
    }
  }

  RemovedCycles result() const { return cycles_; }

 private:
  using Cause = std::uint64_t RemovedCycles::*;

  // What was taken out of the queue by hand (traceagent upload --forget).
  static bool stays(std::string_view entry) { return member(entry, "why").has_value(); }

  bool is_wanted(std::int64_t rank, std::string_view entry) const {
    return std::binary_search(ranks_.begin(), ranks_.end(), rank) &&
           integer_member(entry, "begin_ns").value_or(since_ns_) >= since_ns_;
  }

  void save(const std::string& name, std::string_view entry) {
    const std::int64_t rank = integer_member(entry, "rank").value_or(0);
    if (!is_wanted(rank, entry)) {
      gone_.erase(name);
      return;
    }
    const SavedFile file{rank, integer_member(entry, "base_ns")};
    const auto before = here_.find(name);
    if (before != here_.end() && before->second.base_ns != file.base_ns) {
      remove(name, &RemovedCycles::by_name);
    }
    here_[name] = file;
    // Its rank may have waited for the index when the uploader, which removed it, did not.
    if (const auto at = gone_.find(name); at != gone_.end()) {
      const Cause cause = at->second;
      gone_.erase(at);
      remove(name, cause);
    }
  }

  void remove(const std::string& name, Cause cause) {
    const auto at = here_.find(name);
    if (at == here_.end()) {
      gone_[name] = cause;
      return;
    }
    cycles_.*cause += sources_.have(at->second, name) ? 0 : 1;
    here_.erase(at);
  }

  const Sources& sources_;
  const std::vector<std::int64_t>& ranks_;
  const std::int64_t since_ns_;
  std::unordered_map<std::string, SavedFile> here_;
  std::unordered_map<std::string, Cause> gone_;  // of which none is saved yet
  RemovedCycles cycles_;
};

// Where nodes have one each, that which was joined of them is left out: it may be behind them.
std::vector<std::string> indexes_in(const std::string& folder, const std::string& run_key) {
  std::vector<std::string> all, of_nodes;
  const event::Folder entries = event::open_folder_high(folder.c_str());
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string name(static_cast<const char*>(entry->d_name));
    if (!name.starts_with("index") || !name.ends_with(".json")) continue;
    LineReader lines;
    std::string_view head;
    const std::string path = folder + "/" + name;
    const bool is_read = lines.open(path) && lines.next(head) == LineReader::Status::line;
    if (!is_read || head != index_head(run_key)) continue;
    (name.starts_with("index-node") ? of_nodes : all).push_back(path);
  }
  return of_nodes.empty() ? all : of_nodes;
}

void take_all(const std::string& path, Count& count) {
  LineReader lines;
  std::string_view line;
  if (!lines.open(path)) {
    return;
  }
  while (lines.next(line) == LineReader::Status::line) {
    count.take(line);
  }
}

std::string part_of(const char* option, std::uint64_t cycles) {
  return cycles == 0 ? std::string() : std::to_string(cycles) + " by " + option;
}

}  // namespace

RemovedCycles removed_cycles(const std::string& folder, const std::string& run_key,
                             const MergeReport& merge, std::int64_t since_ns) {
  const Sources sources(merge.sources);
  RemovedCycles sum;
  for (const std::string& path : indexes_in(folder + "/index", run_key)) {
    Count count(sources, merge.ranks, since_ns);
    take_all(path, count);
    sum.by_keep += count.result().by_keep;
    sum.by_queue += count.result().by_queue;
    sum.by_name += count.result().by_name;
  }
  return sum;
}

std::string in_words(const RemovedCycles& cycles) {
  const std::uint64_t all = cycles.by_keep + cycles.by_queue + cycles.by_name;
  if (all == 0) {
    return {};
  }
  std::string parts;
  for (const std::string& part :
       {part_of("output.keep", cycles.by_keep), part_of("upload.queue", cycles.by_queue),
        part_of("output.overwrite", cycles.by_name)}) {
    parts += parts.empty() || part.empty() ? part : ", " + part;
  }
  return "; without " + std::to_string(all) + (all == 1 ? " cycle that was" : " cycles that were") +
         " removed (" + parts + ")";
}

}  // namespace traceagent::trace
