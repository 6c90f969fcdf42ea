#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/ring/ring_file.hpp"

namespace traceagent::tools {

// What the rings of a run say of its node, alike in all of them.
struct NodeOfRun {
  std::string path;  // of the node's file; empty: none is wanted
  std::string run_key;
  std::int64_t node_rank = 0;
  std::string host;  // where that is a guess, which another node may make too; else empty
  std::int64_t nodes = 1;
  std::uint32_t pid = 0;  // of one of its processes
  // Another run of the same key has files there too, which begin before or from here on (ns).
  std::int64_t since_ns = 0;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();
  std::string folder;      // of the run's files
  std::string job_folder;  // the same, or the job's own in place of which that one was named
  std::string include;     // merge.include
  std::int64_t keep = -1;  // output.keep: files that are gone were removed by it
  bool gzip = false;
  bool overwrite = false;
};

// By the first of the rings that can be read. False: by none.
bool describe(const std::vector<std::string>& rings_of_run, NodeOfRun& node);
// A ring that is damaged, or another user's, may say anything.
bool is_sound(const ring::OpenedRing& opened);

// `another_nodes`: the node file of another node of the run.
enum class Kind { other, rank_file, node_file, another_nodes };

Kind kind_of(const std::string& path, const NodeOfRun& node);

}  // namespace traceagent::tools
