#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/trace/output_file.hpp"

namespace traceagent::trace {

// One process group (communicator), as Kineto's "pg_config" describes it.
struct ProcessGroup {
  std::string name;
  std::string description;
  std::string backend;
  std::int64_t size = 0;
  std::vector<std::int64_t> ranks;  // global ranks; empty: unknown
};

struct DocumentHeader {
  std::int64_t rank = 0;  // global; of a node file the lowest
  std::int64_t world_size = 1;
  std::string backend;       // "nccl"; empty: left out
  std::string nccl_version;  // "2.21.5"; empty: left out
  std::string run_key;       // names the run for machines; empty: it and node_rank are left out
  std::int64_t node_rank = 0;
  std::string host;          // of a rank's file; empty: left out
  std::int64_t base_ns = 0;  // CLOCK_REALTIME that "ts" counts from
  std::string trace_name;
  std::vector<ProcessGroup> pg_config;
  std::vector<std::int64_t> ranks;            // of a node file; empty: left out
  std::string device_properties_json = "[]";  // valid JSON on one line

  // For merge.hpp: the whole of "distributedInfo" (then the fields that it is made of are not
  // looked at), and one JSON object for each rank file that a merged file was made of.
  std::string distributed_info_json;
  std::vector<std::string> sources_json;
  std::string selections_json;  // what was chosen of them; a JSON array; empty: all
};

// What stands before the first event. The EventWriter's lines follow, then write_footer.
void write_header(OutputFile& file, const DocumentHeader& header);

// What stands after the last event. `metadata_json` is one JSON object on one line (in a merged
// file it may span lines, none of which is only "}"); `complete` is false for a trace that is known
// to lack something (recovered, or merged from cut files).
void write_footer(OutputFile& file, std::string_view metadata_json, bool complete = true);

// The value of "distributedInfo", on one line.
std::string distributed_info(const DocumentHeader& header);

}  // namespace traceagent::trace
