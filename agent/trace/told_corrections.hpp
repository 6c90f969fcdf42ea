#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "agent/trace/json_object.hpp"
#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// "clock_corrections" of a merged file: what was done to whose times, each correction once.
class ToldCorrections {
 public:
  // What earlier merges have done to an input's times, and what this one does to its `ranks`.
  void add(const MergeInput& input, const std::set<std::int64_t>& ranks);
  // The elements of the array, as JSON.
  [[nodiscard]] std::vector<std::string> elements() const;

 private:
  struct Own {
    JsonObject knots;
    std::set<std::int64_t> ranks;
  };

  std::vector<std::string> earlier_;
  std::vector<Own> own_;
};

// Of inputs that hold events of one source and had, or get, that source's times corrected in two
// ways one is left out, and told: no event of the one is equal to the other's, and all that they
// share would be there twice. Parts that were chosen give way to others.
void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection);

}  // namespace traceagent::trace
