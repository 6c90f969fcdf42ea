#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/trace/merge.hpp"

namespace traceagent::tools {

struct TraceFiles {
  std::vector<std::string> paths;
  std::vector<std::string> foreign;   // found in folders, but not ours
  std::vector<std::string> problems;  // one line each
  // What was meant and cannot be read; each stands in `problems` too.
  std::vector<trace::Unfinished> unread;

  // `what` is wrong with `path`; `remedy` begins with what the system says of it, if anything.
  void add_unread(const char* what, const std::string& path, const std::string& remedy);
};

// Which files of a folder are looked at; none that are hidden.
struct FolderOptions {
  bool recursive = false;                                     // the folders within it too
  std::vector<std::string> suffixes = {".json", ".json.gz"};  // the ends of their names
};

// Whether it begins as our traces do; it may be cut, or cut off there, but not empty. nullopt: it
// cannot be opened.
std::optional<bool> is_own_if_open(const std::string& path);
// A file that cannot be opened is to be reported as what it most likely is.
bool is_own_trace(const std::string& path);

// One in a folder (mkfifo), to which nobody may ever write: opening it waits for that. A shell's
// <(command) and a standard input are none.
bool is_named_pipe(const std::string& path);

// What there is to read of them; of those that are imported, what their events are made of too.
std::uint64_t bytes_of(const std::vector<std::string>& paths);

// Files as they are named, but none that are not there, and no pipes; of a folder, those that
// `options` allow.
TraceFiles trace_files(const std::vector<std::string>& files_and_folders,
                       const FolderOptions& options = {});

}  // namespace traceagent::tools
