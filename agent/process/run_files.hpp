#pragma once
// The run's trace files in its output folder: how ranks that do not share memory (containers) find
// each other's work.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace traceagent::process {

struct RankBegin {
  std::int64_t rank = 0;
  std::int64_t base_ns = 0;
};

struct RunFile {
  std::string path;
  std::int64_t rank = 0;
  std::int64_t node_rank = 0;
  std::string host;
  std::int64_t world_size = 0;
  std::int64_t base_ns = 0;
  std::int64_t modified_ns = 0;
  bool is_merged = false;
  std::vector<RankBegin> begins;  // of each rank file that it was made of; or its own
};

// Nothing for a file that is no trace of this run. Reads the file's first lines.
std::optional<RunFile> run_file(const std::string& path, const std::string& run_key);

// The rank files of one node, in a folder and elsewhere. The folder may be on a network and be
// polled: each file is opened once. With output.overwrite another may take its name.
class NodeRankFiles {
 public:
  // What began before `since_ns` is an older run's of the same key. `host`: where the node's number
  // is a guess, another node's ranks may have made the same; empty: it is none.
  NodeRankFiles(std::string folder, std::string run_key, std::int64_t node_rank,
                std::int64_t since_ns = 0, std::string host = {});
  const std::vector<RunFile>& look();
  // Of this one too, wherever it lies.
  void look_at(const std::string& path);
  const std::vector<RunFile>& files() const noexcept { return files_; }

 private:
  void look_at(const std::string& path, ino_t inode);

  const std::string folder_;
  const std::string run_key_;
  const std::int64_t node_rank_, since_ns_;
  const std::string host_;
  std::set<std::pair<std::string, ino_t>> known_;
  std::vector<RunFile> files_;
};

}  // namespace traceagent::process
