#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/trace/trace_reader.hpp"

namespace traceagent::tools {

// An element of "sources" of a merged file of ours: what was imported into it.
struct ImportedSource {
  std::string name;  // as it stands between the quotes, with its run
  std::string content;
  std::int64_t rank = 0;                       // that it got
  std::optional<std::int64_t> told_rank = {};  // see trace::told_rank_member
  std::optional<std::int64_t> named_rank = {};
  bool has_clock = true;

  [[nodiscard]] bool is_run() const { return content.find('#') != std::string::npos; }
  // Of the file that it is a run of.
  [[nodiscard]] std::string mark() const { return content.substr(0, content.find('#')); }
  [[nodiscard]] std::string file_name() const;
};

// What the import needs to know of our own files that are merged beside others'.
class OwnFiles {
 public:
  // Those that cannot be read say nothing.
  explicit OwnFiles(const std::vector<std::string>& paths);

  // One of "sources", of a file of ours that another program has saved. False: it is none of what
  // was imported.
  bool add_imported(const std::string& source);

  // A job of one rank alone: what is beside it is that rank's.
  [[nodiscard]] bool is_of_one_rank() const {
    return has_job && ranks.size() == 1 && world_size <= 1;
  }

  std::set<std::int64_t> ranks;
  std::map<std::string, ImportedSource> imported;  // by trace::identity_of()
  bool has_job = false;                            // one at least holds what was not imported
  std::map<std::string, std::vector<std::string>> sources;  // source_keys(), by path
  std::map<std::string, std::vector<std::string>> parts;    // of what holds a part of them alone
  std::optional<std::int64_t> first_ns;
  std::int64_t world_size = 0;
  std::vector<std::pair<std::int64_t, std::string>> processes;  // pid and identity of others'

 private:
  void add_ranks(const trace::TraceHeader& header);
  void add_processes(trace::TraceReader& reader);
};

}  // namespace traceagent::tools
