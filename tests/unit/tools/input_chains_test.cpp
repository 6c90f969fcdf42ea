#include "tools/selection/input_chains.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

std::vector<trace::MergeInput> inputs_of(std::size_t count, std::size_t chains) {
  std::vector<trace::MergeInput> inputs(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string chain = std::to_string(i % chains);
    inputs[i].header.trace_name = chain + ".json#1";
    inputs[i].source = R"({"content": ")" + chain + "-9#" + std::to_string(i / chains) + "\"}";
  }
  return inputs;
}

// Of thousands of files each is judged by itself: to look at all others then took minutes.
TEST(InputChains, ask_each_input_once) {
  constexpr std::size_t count = 1000;
  const auto inputs = inputs_of(count, count / 2);
  std::size_t asked = 0;
  const InputChains chains(inputs, [&asked](const trace::MergeInput& input) {
    ++asked;
    return InputChains::name_of_chain(input);
  });
  for (const trace::MergeInput& input : inputs) EXPECT_EQ(chains.with(input).size(), 2U);
  EXPECT_EQ(asked, count);
}

TEST(InputChains, are_in_the_order_of_the_inputs_and_have_what_is_used) {
  auto inputs = inputs_of(6, 2);
  const InputChains chains(inputs);
  using Chain = std::vector<const trace::MergeInput*>;
  EXPECT_EQ(chains.with(inputs[4]), (Chain{&inputs[0], &inputs[2], &inputs[4]}));
  inputs[2].usable = false;
  EXPECT_EQ(chains.with(inputs[0]), (Chain{&inputs[0], &inputs[4]}));
  EXPECT_EQ(chains.with(inputs[2]), (Chain{&inputs[0], &inputs[2], &inputs[4]}));
}

TEST(InputChains, are_of_one_rank_and_one_file_of_others) {
  auto inputs = inputs_of(3, 1);
  inputs[1].header.rank = 1;
  inputs[2].source = "{}";
  const InputChains chains(inputs);
  for (const trace::MergeInput& input : inputs) EXPECT_EQ(chains.with(input).size(), 1U);
}

// Runs that were merged before, since there were very many, are parts of it too.
TEST(InputChains, have_what_was_merged_of_runs) {
  auto inputs = inputs_of(2, 1);
  inputs[1].header.trace_name = "0.json#merged";
  inputs[1].header.sources = {R"({"content": "0-9#7"})", R"({"content": "0-9#8"})"};
  EXPECT_EQ(InputChains(inputs).with(inputs[0]).size(), 2U);
}

}  // namespace
}  // namespace traceagent::tools
