#include "tools/missing_ranks.hpp"

#include <iostream>
#include <string>

namespace traceagent::tools {

namespace {

void print(const std::vector<std::int64_t>& ranks, const std::string& of_node,
           std::int64_t world_size) {
  const std::string of_job = world_size > 0 ? " of the job's " + std::to_string(world_size) : "";
  constexpr const char* why =
      ": none of the files is theirs (who calls neither CUDA nor NCCL has none)\n";
  if (!ranks.empty()) std::cout << "missing: " << trace::ranks_in_words(ranks) << of_job << why;
  if (!of_node.empty()) std::cout << "missing: " << of_node << why;
}

}  // namespace

void print_missing_ranks(const trace::MergeReport& report) {
  print(report.missing_ranks, report.missing_of_node, report.job_ranks.world_size());
}

void print_missing_ranks(const trace::JobRanks& job) {
  print(job.missing(), job.missing_of_node_in_words(), job.world_size());
}

}  // namespace traceagent::tools
