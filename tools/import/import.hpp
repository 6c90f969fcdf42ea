#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/trace/judged_folder.hpp"

namespace traceagent::tools {

struct ImportOptions {
  // Where files are put for the time of the merge: that of the merged file.
  std::string folder = ".";
  // By path as in `files`: what the user says of them (--rank FILE=N).
  std::map<std::string, std::int64_t> ranks = {};
  // First and last, as in --rank: no file without a rank gets one of them.
  std::vector<std::pair<std::int64_t, std::int64_t>> others_ranks = {};
  // Our own files, which are merged too: no file without a rank gets one of theirs, and files whose
  // clock is unknown begin where the first of all others does.
  std::vector<std::string> own_files = {};
  unsigned threads = 0;  // 0: as many as there are CPUs, at most 4
  // As trace::MergeOptions' one.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct ImportedFile {
  std::string path;
  std::string kind;  // "PyTorch"
  std::vector<std::int64_t> ranks;
  std::string rank_from;  // "content", "name", "--rank"; "none": the next that was free
  std::uint64_t events = 0;
  std::uint64_t repaired = 0;  // events
  std::uint64_t crowded = 0;   // events, see EventCounts
  // Events whose times do not count from 1970, of a file of which others' do and that does not tell
  // since when: they stand from where those begin, for want of anything better.
  std::uint64_t placed = 0;
  std::map<std::string, std::uint64_t> dropped = {};  // events, by cause
  bool has_clock = true;       // false: its times are relative to nobody knows what
  bool is_trace = false;       // false: nothing of it is in the merge
  bool is_other_json = false;  // whole JSON that holds no events
  std::string content;         // content_mark.hpp
  // Where its array of events ends that nobody has closed: perhaps it was cut there.
  std::optional<std::uint64_t> open_end;
  std::string left_out;  // why nothing of it is in the merge though it is a trace; or empty
  std::string problem;   // one line, or empty
  bool is_lost = false;  // left out, and no others hold all of it
};

// Of which two files that are merged cannot be one process's: "is of two hosts, a and b".
struct MixedRank {
  std::int64_t rank = 0;
  std::string first, second;  // paths
  std::string why;
};

// One line; empty where it has no open_end.
std::string not_closed(const ImportedFile& file);

// Other people's traces (Composer's, PyTorch's, TensorFlow's, SageMaker Debugger's, any in Chrome's
// JSON form; plain or gzip; cut or damaged) as files of our own form, for trace::merge. They go
// with this object.
class ImportedTraces {
 public:
  // Throws std::bad_alloc alone.
  ImportedTraces(const std::vector<std::string>& files, const ImportOptions& options);
  ~ImportedTraces();
  ImportedTraces(const ImportedTraces&) = delete;
  ImportedTraces& operator=(const ImportedTraces&) = delete;

  // In the order in which they were given.
  [[nodiscard]] const std::vector<ImportedFile>& files() const { return files_; }
  // For trace::merge.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  // The file, of those that were given, of which one of paths() was made; null: it is none of
  // these.
  [[nodiscard]] const ImportedFile* made_of(const std::string& path) const;
  // Our own files that are not to be merged, since one of these, which another program has saved,
  // holds all of them, and not all of ours is whole: with that one.
  [[nodiscard]] const std::map<std::string, std::string>& replaced() const { return replaced_; }
  [[nodiscard]] const std::vector<MixedRank>& mixed() const { return mixed_; }
  // Why nothing could be imported: "<what>: <folder>: <remedy>"; or empty.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::string folder_;
  std::optional<trace::JudgedFolder> judged_;
  std::vector<ImportedFile> files_;
  std::vector<std::string> paths_;
  std::map<std::string, std::size_t> made_of_;  // each of paths_: which of files_
  std::map<std::string, std::string> replaced_;
  std::vector<MixedRank> mixed_;
  std::string problem_;
};

}  // namespace traceagent::tools
