#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, each 1.
// Case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is nearest to a misspelt name, or empty when none is near enough to be meant
// (more than a third of the letters wrong). The first of several equally near ones.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// "the nearest is NAME", or "there is none like it" with no candidate near.
std::string nearest_in_words(std::string_view name,
                             const std::vector<std::string_view>& candidates);

}  // namespace traceagent::config
