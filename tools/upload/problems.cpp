#include "tools/upload/problems.hpp"

#include <algorithm>

namespace traceagent::tools {

void Problems::note(const std::string& place, const std::string& problem) {
  forget(place);
  all_.emplace(all_.begin(), place, problem);
  if (all_.size() > most) all_.pop_back();
}

bool Problems::has(const std::string& place) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& each) { return each.first == place; });
}

void Problems::forget(const std::string& place) {
  std::erase_if(all_, [&](const auto& each) { return each.first == place; });
}

std::string Problems::text(const std::string& what_waits) const {
  std::string lines;
  for (const auto& [place, problem] : all_) {
    lines += problem + (lines.empty() ? what_waits : "") + "\n";
  }
  return lines;
}

}  // namespace traceagent::tools
