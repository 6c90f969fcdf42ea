#pragma once
// The page of "traceagent check FILE": what a trace holds, what it lacks and why.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "agent/trace/job_ranks.hpp"
#include "tools/check_report.hpp"

namespace traceagent::tools {

// Of the files of a folder, by run key.
struct FoundJob {
  trace::JobRanks ranks;
  bool has_rank_file = false;  // merged files may be chosen parts
};
using FoundJobs = std::map<std::string, FoundJob>;

// A rank file or a node file of ours, plain or gzip. Reads all of it. False, with one line in
// `problem`, when it cannot be read as one or is cut; the page then says how much could be read.
// `jobs`: what files that were looked at have of their runs, to which it is added; or null.
bool check_trace(const std::string& path, CheckReport& report, std::string& problem,
                 FoundJobs* jobs = nullptr);

// One rank's metadata: the value of "traceagent" in its file.
void check_rank(std::string_view metadata, CheckReport& report);

}  // namespace traceagent::tools
