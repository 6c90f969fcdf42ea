#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/trace/merge_input.hpp"

namespace traceagent::tools {

// The inputs that a slice or an arrow may go on in: those that one file of others' became (one for
// each of its threads, say), and files of SageMaker Debugger's that one process wrote one after the
// other with one writer.
class InputChains {
 public:
  // Of all inputs it is asked once: there may be thousands.
  using ChainOf = std::function<std::string(const trace::MergeInput&)>;

  // `inputs` must stay where they are.
  explicit InputChains(const std::vector<trace::MergeInput>& inputs,
                       const ChainOf& chain_of = name_of_chain);

  // It and the others of its chain that are used, in the order in which the merge has them.
  [[nodiscard]] std::vector<const trace::MergeInput*> with(const trace::MergeInput& input) const;

  // Empty: it is in none.
  static std::string name_of_chain(const trace::MergeInput& input);

 private:
  std::vector<std::vector<const trace::MergeInput*>> chains_;
  std::unordered_map<const trace::MergeInput*, std::size_t> chain_of_;
};

}  // namespace traceagent::tools
