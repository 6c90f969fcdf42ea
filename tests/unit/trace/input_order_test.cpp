#include "agent/trace/input_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace traceagent::trace {
namespace {

MergeInput input(std::int64_t rank, std::int64_t first_ns, const std::string& content = "") {
  MergeInput made;
  made.header.rank = rank;
  made.first_ns = first_ns;
  made.source = content.empty() ? "{}" : R"({"content": ")" + content + "\"}";
  return made;
}

// One that was merged of runs.
MergeInput merged(std::int64_t first_ns, const std::vector<std::string>& contents) {
  MergeInput made = input(0, first_ns);
  for (const std::string& content : contents) {
    made.header.sources.push_back(R"({"content": ")" + content + "\"}");
  }
  return made;
}

std::vector<std::int64_t> times_in_order(std::vector<MergeInput> inputs) {
  put_in_order(inputs);
  std::vector<std::int64_t> times;
  for (const MergeInput& each : inputs) times.push_back(each.first_ns);
  return times;
}

TEST(InputOrder, is_by_rank_and_time) {
  std::vector<MergeInput> inputs;
  for (const auto& [rank, ns] : {std::pair(1, 5), {0, 9}, {0, 3}, {1, 2}}) {
    inputs.push_back(input(rank, ns));
  }
  EXPECT_EQ(times_in_order(std::move(inputs)), (std::vector<std::int64_t>{3, 9, 2, 5}));
}

TEST(InputOrder, runs_of_a_file_stay_together_in_the_order_of_their_numbers) {
  const std::vector<std::int64_t> expected = {10, 40, 70, 20, 15, 30};
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<MergeInput> inputs;
    for (const int each : order) {
      if (each == 0) inputs.push_back(input(0, 40, "m-1#2"));
      if (each == 1) inputs.push_back(input(0, 10, "m-1#1"));
      if (each == 2) inputs.push_back(input(0, 15, "n-1#10"));
      if (each == 3) inputs.push_back(input(0, 20, "n-1#9"));
      if (each == 4) inputs.push_back(merged(70, {"m-1#31", "m-1#3"}));
      if (each == 5) inputs.push_back(input(0, 30, "p-1"));
    }
    EXPECT_EQ(times_in_order(std::move(inputs)), expected);
  }
}

TEST(InputOrder, what_was_merged_of_several_files_is_no_run) {
  EXPECT_EQ(run_of(merged(1, {"m-1#1", "n-1#1"})).mark, "");
  EXPECT_EQ(run_of(merged(1, {"m-1#1", "m-1"})).mark, "");
  EXPECT_EQ(run_of(input(0, 1)).mark, "");
  EXPECT_EQ(run_of(merged(1, {"m-1#12", "m-1#3"})).number, 3);
}

}  // namespace
}  // namespace traceagent::trace
