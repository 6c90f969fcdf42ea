#include "tools/merge_report.hpp"

#include <algorithm>
#include <iostream>

#include "tools/command_line.hpp"
#include "tools/losses.hpp"
#include "tools/missing_ranks.hpp"

namespace traceagent::tools {

namespace {

bool print_input(const trace::MergedInput& input) {
  if (!input.problem.empty()) {
    say(input.problem);
    return false;
  }
  if (!input.left_out.empty() && !input.unwanted) {
    std::cout << "left out: " << input.path << ": " << input.left_out << "\n";
  }
  return true;
}

}  // namespace

bool print_inputs(const trace::MergeReport& report) {
  bool ok = true;
  for (const trace::MergedInput& input : report.inputs) {
    ok = print_input(input) && ok;
  }
  return ok;
}

bool print_report(const trace::MergeReport& report, const std::string& output) {
  const bool ok = print_inputs(report);
  if (!report.problem.empty()) {
    say(report.problem);
    return false;
  }
  std::cout << output << ": " << in_words(report.ranks.size(), "rank") << ", "
            << in_words(report.events, "event") << losses_in_words(report) << ", "
            << in_words(report.output_bytes, "byte") << "\n"
            << std::flush;  // the agent, which may end this now, learns what the file holds
  if (report.repeated > 0) {
    std::cout << "left out: " << in_words(report.repeated, "event")
              << " that several inputs hold: each is there once\n";
  }
  print_missing_ranks(report);
  if (!report.joined_runs.empty()) {
    std::cout
        << "joined: " << report.joined_runs
        << ": as one job, each node of which may name it differently; of two jobs, merge each "
           "by itself\n";
  }
  for (const trace::Unfinished& rank : report.mixed) {
    std::cout << "mixed: " << rank.who << " " << rank.why << "\n";
  }
  const auto unwanted = std::count_if(report.inputs.begin(), report.inputs.end(),
                                      [](const auto& input) { return input.unwanted; });
  if (unwanted > 0) {
    std::cout << "left out: " << in_words(static_cast<std::uint64_t>(unwanted), "file")
              << " of other ranks\n";
  }
  return ok;
}

void print_other_nodes(const trace::MergeReport& report) {
  const trace::JobRanks& job = report.job_ranks;
  const bool is_whole = report.missing_ranks.empty() && job.missing_of_node_in_words().empty();
  if (!job.is_of_one_node() || !is_whole || !job.is_node_size_known()) return;
  std::cout << "of node " << job.node_rank() << " alone: " << job.ranks_of_node()
            << " of the job's " << job.world_size() << " ranks\n";
}

void print_selection(const SelectionCounts& counts) {
  if (counts.left_out() > 0) {
    std::cout << "left out: " << in_words(counts.left_out(), "event") << " (" << in_words(counts)
              << ")\n";
  }
  if (counts.clipped > 0) {
    std::cout << "cut at the window's edges: " << in_words(counts.clipped, "event") << "\n";
  }
}

}  // namespace traceagent::tools
