#include "tools/selection/seen_categories.hpp"

#include <algorithm>

#include "config/nearest.hpp"
#include "tools/selection/event_rules.hpp"

namespace traceagent::tools {

void SeenCategories::add(std::string_view category) {
  if (category == last_) return;
  last_ = category;
  for_each_category(category, [this](std::string_view one) {
    if (one.empty() || std::find(seen_.begin(), seen_.end(), one) != seen_.end()) return;
    are_all_ = are_all_ && seen_.size() < most;
    if (are_all_) seen_.emplace_back(one);
  });
}

std::vector<std::string> SeenCategories::missing_in_words(
    const std::vector<std::string>& wanted) const {
  std::vector<std::string> lines;
  if (!are_all_) return lines;
  const std::vector<std::string_view> candidates(seen_.begin(), seen_.end());
  for (const std::string& category : wanted) {
    if (std::find(seen_.begin(), seen_.end(), category) != seen_.end()) continue;
    lines.push_back("no event has the category " + category + ": " +
                    config::nearest_in_words(category, candidates));
  }
  return lines;
}

}  // namespace traceagent::tools
