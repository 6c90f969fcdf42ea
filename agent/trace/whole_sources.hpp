#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/trace/merge_input.hpp"

namespace traceagent::trace {

// What a merged file holds of its sources, by identity_of.
struct WholeSources {
  std::set<std::string> whole;
  // By the name of the file that was cut or damaged when it was merged, as in "incomplete": all
  // sources of that name.
  std::map<std::string, std::set<std::string>> cut;
};

// It is read to its end. Of one that is cut or damaged itself nothing is whole, nor is it where
// none of its sources has the name of what was cut: that was a merged file. Throws std::bad_alloc.
WholeSources whole_sources_of(const MergeInput& merged);

}  // namespace traceagent::trace
