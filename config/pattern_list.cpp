#include "config/pattern_list.hpp"

#include <algorithm>

namespace traceagent::config {
namespace {

// As glob() sees it: within one folder's name, and a "]" that comes first stands for itself.
bool has_open_bracket(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\') {
      ++i;
    } else if (name[i] == '[') {
      const bool is_negated = name.substr(i + 1, 1) == "!" || name.substr(i + 1, 1) == "^";
      const std::size_t first = i + (is_negated ? 2 : 1);
      const std::size_t end = name.find(']', first + 1);
      if (end == std::string_view::npos) return true;
      i = end;
    }
  }
  return false;
}

std::string doubt_about_name(std::string_view name) {
  if (name == "**") {
    return "** is one folder, as * is: give a pattern for each depth, such as */x and */*/x";
  }
  if (has_open_bracket(name)) {
    return "a [ that is not closed stands for itself: close it, or write \\[";
  }
  return {};
}

}  // namespace

std::vector<std::string> patterns_of(std::string_view list) {
  std::vector<std::string> patterns;
  while (!list.empty()) {
    std::string_view pattern = list.substr(0, list.find(','));
    list.remove_prefix(pattern.size() == list.size() ? list.size() : pattern.size() + 1);
    while (pattern.starts_with(' ')) pattern.remove_prefix(1);
    while (pattern.ends_with(' ')) pattern.remove_suffix(1);
    if (!pattern.empty()) patterns.emplace_back(pattern);
  }
  return patterns;
}

std::string doubt_about_pattern(std::string_view pattern) {
  while (!pattern.empty()) {
    const std::string_view name = pattern.substr(0, pattern.find('/'));
    if (std::string doubt = doubt_about_name(name); !doubt.empty()) return doubt;
    pattern.remove_prefix(std::min(name.size() + 1, pattern.size()));
  }
  return {};
}

}  // namespace traceagent::config
