#include "tools/missing_ranks.hpp"

#include <iostream>
#include <string>

namespace traceagent::tools {

void print_missing_ranks(const trace::MergeReport& report) {
  const std::int64_t world_size = report.job_ranks.world_size();
  const std::string of_job = world_size > 0 ? " of the job's " + std::to_string(world_size) : "";
  constexpr const char* why =
      ": none of the files is theirs (who calls neither CUDA nor NCCL has none)\n";
  if (!report.missing_ranks.empty()) {
    std::cout << "missing: " << trace::ranks_in_words(report.missing_ranks) << of_job << why;
  }
  if (!report.missing_of_node.empty()) {
    std::cout << "missing: " << report.missing_of_node << why;
  }
}

}  // namespace traceagent::tools
