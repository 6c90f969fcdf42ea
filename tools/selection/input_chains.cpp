#include "tools/selection/input_chains.hpp"

#include <string_view>

#include "agent/trace/input_order.hpp"
#include "tools/import/sagemaker_names.hpp"

namespace traceagent::tools {

InputChains::InputChains(const std::vector<trace::MergeInput>& inputs, const ChainOf& chain_of) {
  std::unordered_map<std::string, std::size_t> places;
  for (const trace::MergeInput& input : inputs) {
    const std::string name = chain_of(input);
    if (name.empty()) continue;
    const std::size_t place = places.try_emplace(name, chains_.size()).first->second;
    if (place == chains_.size()) chains_.emplace_back();
    chains_[place].push_back(&input);
    chain_of_.emplace(&input, place);
  }
}

std::vector<const trace::MergeInput*> InputChains::with(const trace::MergeInput& input) const {
  const auto found = chain_of_.find(&input);
  if (found == chain_of_.end()) return {&input};
  std::vector<const trace::MergeInput*> chain;
  for (const trace::MergeInput* const each : chains_[found->second]) {
    if (each == &input || each->is_used()) chain.push_back(each);
  }
  return chain;
}

std::string InputChains::name_of_chain(const trace::MergeInput& input) {
  const std::string_view trace = input.header.trace_name;  // of what was imported "<file>#1"
  const std::string_view file = trace.substr(0, trace.rfind('#'));
  const std::string rank = std::to_string(input.header.rank) + "/";
  if (const auto name = sagemaker_name(file)) return rank + name->process + "/" + name->writer;
  const std::string mark = trace::run_of(input).mark;
  return mark.empty() ? "" : rank + std::string(file) + "/" + mark;
}

}  // namespace traceagent::tools
