#include "tools/check_node_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "agent/trace/json_scan.hpp"

namespace traceagent::tools {

using trace::integer_member;
using trace::member;

namespace {

struct Steps {
  std::int64_t first = 0, last = 0;
  int processes = 0;
};

// Of a job's runs each has its own cycles.
using Cycle = std::pair<std::string, std::int64_t>;
using StepsOfRanks = std::map<std::int64_t, Steps>;

void add_rank(std::string_view metadata, std::map<Cycle, StepsOfRanks>& cycles) {
  const auto window = member(metadata, "window");
  const auto identity = member(metadata, "identity");
  if (!window || !identity) return;
  const auto rank = integer_member(*identity, "rank");
  const auto cycle = integer_member(*window, "cycle");
  const auto first = integer_member(*window, "first_step");
  const auto last = integer_member(*window, "last_step");
  if (!rank || !cycle || !first || !last) return;
  const std::string run(trace::string_member(*identity, "run_key").value_or(""));
  Steps& steps = cycles[{run, *cycle}][*rank];
  steps = {*first, *last, steps.processes + 1};
}

// "rank 0", "ranks 0, 1, 2 and 5 more"
std::string ranks_in_words(const std::string& listed, int count, int shown) {
  return (count == 1 ? "rank " : "ranks ") + listed +
         (count > shown ? " and " + std::to_string(count - shown) + " more" : "");
}

// "rank 0 steps 9 to 12, ranks 1, 2 steps 33 to 36"; empty where all began with one step.
std::string differences(const StepsOfRanks& ranks) {
  constexpr int most_listed = 8;
  struct Group {
    std::string listed;
    int count = 0;
    std::int64_t last = 0;
  };
  std::map<std::int64_t, Group> groups;
  for (const auto& [rank, steps] : ranks) {
    if (steps.processes != 1) continue;
    Group& group = groups[steps.first];
    if (group.count++ < most_listed) {
      group.listed += (group.listed.empty() ? "" : ", ") + std::to_string(rank);
    }
    group.last = std::max(group.last, steps.last);
  }
  if (groups.size() < 2) return "";
  std::string words;
  for (const auto& [first, group] : groups) {
    words += (words.empty() ? "" : ", ") + ranks_in_words(group.listed, group.count, most_listed) +
             " steps " + std::to_string(first) + " to " + std::to_string(group.last);
  }
  return words;
}

}  // namespace

void check_node_steps(std::string_view ranks, CheckReport& report) {
  std::map<Cycle, StepsOfRanks> cycles;
  trace::for_each_element(ranks, [&](std::string_view rank) { add_rank(rank, cycles); });
  for (const auto& [cycle, steps] : cycles) {
    const std::string words = differences(steps);
    if (words.empty()) continue;
    report.no("steps",
              "cycle " + std::to_string(cycle.second) + " is not of the same steps: " + words,
              "let all count the same: set step.mark to nvtx:NAME or call:FUNCTION");
  }
}

}  // namespace traceagent::tools
